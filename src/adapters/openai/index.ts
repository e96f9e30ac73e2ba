// Tools for OpenAI's SDK: a toolbox as its `tools`, and its calls run through the toolbox.

export type { ModelCallOptions, OfferOptions } from '../shared/door.js';
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
} from './format.js';
