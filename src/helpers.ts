// Entry of wield/helpers: registering tools, search paths, selectors, path expressions, serialization.

import type { Toolbox } from './core/toolbox.js';
import { createToolbox } from './toolbox.js';

export type { JsonSchema } from './core/schema.js';
export {
  type DirEntry,
  extractIgnore,
  filterPaths,
  iterPaths,
  mapPaths,
  type PathEntry,
  pathEntryDir,
} from './core/search-path.js';
export { type ArgumentPattern, parseSelectors, type Selector, type SelectorPolicy } from './core/selector.js';
export { matchPattern, matchSelector, type SelectedTool } from './core/selector-match.js';
export type { Skill } from './core/skill.js';
export type { Tool } from './core/tool.js';
export type { Toolbox } from './core/toolbox.js';
export { ctxCwd, ctxHookTarget, ctxHookTrigger, ctxPaths, ctxTarget, findAuthority } from './extras/helpers/context.js';
export {
  isMetaKey,
  pathGet,
  pathKeys,
  pathQuery,
  pathRemove,
  pathSet,
  resolveJsonSchema,
} from './extras/helpers/paths.js';
export {
  type CallbackRefOptions,
  clearAllCaches,
  clearToolCache,
  createCallbackRef,
  findTool,
  getToolsByGroup,
  listTools,
  type RegisterToolOptions,
  registerTool,
  unregisterTool,
} from './extras/helpers/register.js';
export {
  deserialize,
  parse,
  reviveFns,
  type StringifyOptions,
  safeClone,
  safeSnapshot,
  safeStringify,
  serialize,
  serializeContext,
  stringify,
  type TransferableNames,
  transferableSerializerSource,
} from './extras/helpers/serialize.js';
export type {
  DeserializeOptions,
  SerializeOptions as SafeCloneOptions,
  SerializeOptions,
} from './extras/helpers/serializer.js';
export type { HookTrigger, ServedCall } from './runtime/middleware.js';

/** Creates a toolbox without tools, caches and configuration, for tests (HLP-6). */
export function emptyGlobals(): Toolbox {
  return createToolbox({ tools: [] });
}
