// The adapter for Ollama's library.

export type { ModelCallOptions, OfferOptions } from '../shared/adapter.js';
export {
  type OllamaCall,
  type OllamaResult,
  type OllamaTool,
  runOllamaCall,
  toOllamaTools,
} from './convert.js';
