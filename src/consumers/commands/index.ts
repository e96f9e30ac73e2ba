// Tools as commands: a command line becomes a tool's input, and a tool its own help.

export { type Argument, type FlagKind, ownFlagValue, splitArguments } from './arguments.js';
export { exampleArguments, formatToolHelp, parameterRows } from './help.js';
export { type CommandInput, readCommandInput, readOwnFlags } from './input.js';
export { OWN_FLAGS, type Parameter, toParameters, toPositionals } from './parameters.js';
