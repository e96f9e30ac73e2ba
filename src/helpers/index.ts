// Helpers for programs around tools: selectors, path expressions, serialisation, schemas found at run time.

export {
  type ArgumentPattern,
  matchPattern,
  matchSelector,
  parseSelectors,
  type SelectedTool,
  type Selector,
  type SelectorPolicy,
} from '../core/selector.js';
export { ctxCwd, ctxHookTarget, ctxHookTrigger, ctxPaths, ctxTarget } from './context.js';
export { isMetaKey, pathGet, pathKeys, pathQuery, pathRemove, pathSet } from './paths.js';
export { type SafeCloneOptions, safeClone, safeSnapshot, safeStringify, serializeContext } from './safe.js';
export { resolveJsonSchema } from './schema.js';
export { deserialize, parse, reviveFns, type StringifyOptions, serialize, stringify } from './serialize.js';
export type { SerializeOptions } from './serializer/copy.js';
export type { DeserializeOptions } from './serializer/revive.js';
export { type TransferableNames, transferableSerializerSource } from './transferable.js';
