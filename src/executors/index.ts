// The executors, by the kind of action that they run.

export { createDelegateExecutor, type DelegateExecutorOptions } from './delegate.js';
export { createFunctionExecutor, type FunctionExecutorOptions } from './function.js';
export { createModuleExecutor, type ModuleExecutor, type ModuleExecutorOptions } from './host/index.js';
export { createProcessExecutor, type ProcessExecutorOptions } from './process/index.js';
export { createTextExecutor, type TextExecutorOptions } from './text.js';
