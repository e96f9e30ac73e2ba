// Tools for Ollama's library: a toolbox as its `tools`, and its calls run through the toolbox.

export type { ModelCallOptions, OfferOptions } from '../shared/door.js';
export {
  type OllamaCall,
  type OllamaResult,
  type OllamaTool,
  runOllamaCall,
  toOllamaTools,
} from './format.js';
