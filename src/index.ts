// The root entry: define tools, make a toolbox of them, tell errors apart.

export type { ToolContext } from './core/context.js';
export {
  type ErrorCode,
  type ErrorValue,
  isToolError,
  ToolError,
  type ToolErrorOptions,
} from './core/error.js';
export type { CallEvent, Observer } from './core/event.js';
export type { Json, JsonObject } from './core/json.js';
export { applyLinePatches, type LinePatch, LinePatchSchema } from './core/line-patch.js';
export { decodeName, type EncodedNames, encodeName, encodeNames } from './core/name.js';
export { describePlan, type Plan } from './core/plan.js';
export { type Part, type ToolResult, textOf } from './core/result.js';
export type { Check, Fault, JsonSchema, Schema } from './core/schema.js';
export type { Action, Origin, Problem, ShadowedTool, Tool, Traits } from './core/tool.js';
export type { Caller, CallOptions, ListOptions, Toolbox, Verdict } from './core/toolbox.js';
export { defineTool, type ToolDefinition } from './formats/module/define.js';
export { createToolbox, type ToolboxOptions } from './toolbox.js';
