// The adapter for Anthropic's SDK.

export type { ModelCallOptions, OfferOptions } from '../shared/adapter.js';
export {
  type AnthropicTool,
  type AnthropicToolResult,
  type AnthropicToolUse,
  runAnthropicCall,
  toAnthropicTools,
} from './convert.js';
