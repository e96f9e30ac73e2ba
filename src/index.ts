// The root entry: defining tools, creating a toolbox, errors.

export { applyLinePatches, type LinePatch, LinePatchSchema } from './context/line-patch.js';
export type { ApprovalAnswer, ApprovalRecord, ApprovalRequest, Approve, Consent } from './core/approval.js';
export type { Caller, Verdict } from './core/caller.js';
export type { NestedOptions, ToolContext, ToolUpstreams } from './core/context.js';
export type { Ask, Elicit, ElicitAnswer, Elicitation, Question } from './core/elicit.js';
export {
  type ErrorCode,
  type ErrorValue,
  isToolError,
  ToolError,
  type ToolErrorOptions,
} from './core/error.js';
export type { CallEvent, Observer } from './core/event.js';
export type { Json, JsonObject } from './core/json.js';
export type { CacheOptions, RateLimitOptions, RetryOptions } from './core/middleware-settings.js';
export { decodeName, type EncodedNames, encodeName, encodeNames } from './core/name.js';
export type { Origin } from './core/origin.js';
export { describePlan, type Plan } from './core/plan.js';
export type { Prompt, Resource } from './core/resource.js';
export {
  type FailedResult,
  type Output,
  type Part,
  type SuccessfulResult,
  type ToolResult,
  textOf,
} from './core/result.js';
export type { Check, Fault, JsonSchema, Schema } from './core/schema.js';
export type { ToolConfig } from './core/settings.js';
export type { Cascade, Skill } from './core/skill.js';
export type { Action, ShadowedTool, Tool, Traits } from './core/tool.js';
export type {
  CallOptions,
  DeniedTool,
  Explanation,
  KnownToolbox,
  ListOptions,
  SearchOptions,
  Toolbox,
  ToolboxCatalog,
  ToolboxWorkspace,
} from './core/toolbox.js';
export type { NamedDefinition, ToolInput, ToolResultOf } from './core/typed.js';
export { cache, rateLimit, retry } from './extras/middleware/index.js';
export {
  type DefinedTool,
  type DefinitionSchema,
  defineTool,
  type FailedOutput,
  type ToolDefinition,
} from './formats/module/define.js';
export {
  definePrompt,
  defineResource,
  type PromptDefinition,
  type PromptMessage,
  type ResourceContent,
  type ResourceDefinition,
} from './formats/module/offers.js';
export type {
  HookTrigger,
  Middleware,
  MiddlewareCall,
  MiddlewareFunction,
  Next,
  ServedCall,
} from './runtime/middleware.js';
export type { StandardSchema } from './schema/standard.js';
export { createToolbox, type ToolboxOptions } from './toolbox.js';
