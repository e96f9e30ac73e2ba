// The adapter for OpenAI's SDK: chat completions and responses.

export type { ModelCallOptions, OfferOptions } from '../shared/adapter.js';
export {
  type OpenAIChatCall,
  type OpenAIChatResult,
  type OpenAIChatTool,
  type OpenAIOfferOptions,
  type OpenAIResponsesCall,
  type OpenAIResponsesResult,
  type OpenAIResponsesTool,
  runOpenAICall,
  toOpenAITools,
} from './convert.js';
