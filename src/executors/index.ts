// All executors, one per kind of action.

export type { Executor } from '../core/executor.js';
export { createDelegateExecutor, type DelegateExecutorOptions } from './delegate/index.js';
export { createFunctionExecutor, type FunctionExecutorOptions } from './function/index.js';
export { createHttpExecutor, type HttpRunOptions } from './http/index.js';
export { createModuleExecutor, type ModuleExecutor, type ModuleExecutorOptions } from './module/index.js';
export { createProcessExecutor, type ProcessExecutorOptions } from './process/index.js';
export { createTextExecutor, type TextExecutorOptions } from './text/index.js';
