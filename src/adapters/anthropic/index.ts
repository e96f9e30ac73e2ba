// Tools for Anthropic's SDK: a toolbox as its `tools`, and its calls run through the toolbox.

export type { ModelCallOptions, OfferOptions } from '../shared/door.js';
export {
  type AnthropicTool,
  type AnthropicToolResult,
  type AnthropicToolUse,
  runAnthropicCall,
  toAnthropicTools,
} from './format.js';
