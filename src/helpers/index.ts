// Entry of wield/helpers: registering tools, search paths, selectors, path expressions, serialization.

export {
  type DirEntry,
  extractIgnore,
  filterPaths,
  iterPaths,
  mapPaths,
  type PathEntry,
  pathEntryDir,
} from '../core/search-path.js';
export {
  type ArgumentPattern,
  matchPattern,
  matchSelector,
  parseSelectors,
  type SelectedTool,
  type Selector,
  type SelectorPolicy,
} from '../core/selector.js';
export { ctxCwd, ctxHookTarget, ctxHookTrigger, ctxPaths, ctxTarget, findAuthority } from './context.js';
export { isMetaKey, pathGet, pathKeys, pathQuery, pathRemove, pathSet } from './paths.js';
export {
  type CallbackRefOptions,
  clearAllCaches,
  clearToolCache,
  createCallbackRef,
  emptyGlobals,
  findTool,
  listTools,
  type RegisterToolOptions,
  registerTool,
  unregisterTool,
} from './register.js';
export { resolveJsonSchema } from './schema.js';
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
} from './serialize.js';
export type { SerializeOptions as SafeCloneOptions, SerializeOptions } from './serializer/copy.js';
export type { DeserializeOptions } from './serializer/revive.js';
