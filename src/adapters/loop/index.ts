// The agent loop: runs a model with the tools of a toolbox until its task or turn ends.

export type { Message, ModelClient, Provider } from './drivers.js';
export {
  type AgentLoopOptions,
  type ChatTurnOptions,
  type LoopResult,
  type LoopStatus,
  runAgentLoop,
  runChatTurn,
} from './loop.js';
