// The executors, by the kind of action that they run.

export { createFunctionExecutor, type FunctionExecutorOptions } from './function.js';
export { createModuleExecutor, type ModuleExecutor, type ModuleExecutorOptions } from './host/index.js';
export { createProcessExecutor, type ProcessExecutorOptions } from './process/index.js';
