// The agent loop: a model with the tools of a toolbox, driven to the end of a task or of a turn.

export type { ModelClient, Provider } from './client.js';
export type { Message } from './driver.js';
export {
  type AgentLoopOptions,
  type ChatTurnOptions,
  type LoopResult,
  type LoopStatus,
  runAgentLoop,
  runChatTurn,
} from './loop.js';
