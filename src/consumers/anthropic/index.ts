// Tools for Anthropic's SDK: a toolbox as its `tools`, and its calls run through the toolbox.

export {
  type AnthropicTool,
  type AnthropicToolResult,
  type AnthropicToolUse,
  runAnthropicCall,
  toAnthropicTools,
} from '../../model/anthropic.js';
export type { ModelCallOptions, OfferOptions } from '../../model/door.js';
