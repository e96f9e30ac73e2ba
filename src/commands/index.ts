// `wield/commands`: tools as command lines.

export type { Problem } from '../core/problem.js';
export { type Argument, type FlagKind, ownFlagValue, splitArguments } from './arguments.js';
export {
  type CommanderCommand,
  type CommandOutcome,
  type RegisterToolsOptions,
  registerToolsAsCLI,
} from './commander.js';
export { exampleArguments, formatToolHelp, parameterRows, type ToolHelpOptions } from './help.js';
export { type CommandInput, type CommandInputOptions, readCommandInput, readOwnFlags } from './input.js';
export { toCommandLine } from './line.js';
export { type CommandName, commandName } from './names.js';
export { OWN_FLAGS, type Parameter, toParameters, toPositionals } from './parameters.js';
