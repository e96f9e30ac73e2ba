// Advice on a tools.json that holds together: what is never used, what is riskier than it needs to be.

import type { Execution, Mapping } from '../../core/command.js';
import { escapePointer, isRecord } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import type { PlacedComplaint } from '../../core/strict-object.js';
import type { DeclaredTool, ToolsDescriptor } from './parse.js';

// Programs that run other programs, or write anywhere, through their arguments.
const EXEC_CAPABLE = new Set(
  `awk bash busybox cargo curl docker env expect find gdb git go make man mysql nc node npm npx perl php pip psql python
  python3 rsync ruby sed sh sqlite3 ssh strace sudo tar tee time vi vim watch wget xargs zip zsh`.split(
    /\s+/,
  ),
);

/** Advice, each at the JSON pointer of the one-file layout. */
export function lintToolsDescriptor({ tools, allowlist }: ToolsDescriptor): PlacedComplaint[] {
  const advice: PlacedComplaint[] = [];
  const used = usedPairs(tools);
  for (const [binary, subcommands] of Object.entries(allowlist)) {
    const pointer = `/allowlist/${escapePointer(binary)}`;
    subcommands.forEach((subcommand, index) => {
      if (used.has(`${binary}\n${subcommand}`)) return;
      advice.push({
        pointer: `${pointer}/${index}`,
        message: `"${subcommand}" is listed and never run`,
        hint: 'remove it',
      });
    });
    if (EXEC_CAPABLE.has(binary) && tools.some((tool) => hasFreeArgument(tool, binary))) {
      advice.push({
        pointer,
        message: `"${binary}" can run programs through its arguments`,
        hint: 'bind each argument to an enum or a pattern',
      });
    }
  }
  tools.forEach((tool, index) => {
    advice.push(...lintTool(tool, `/tools/${index}`));
  });
  return advice;
}

function usedPairs(tools: readonly DeclaredTool[]): Set<string> {
  const pairs = new Set<string>();
  const add = (binary: string | undefined, subcommand: string): void => {
    if (binary !== undefined) pairs.add(`${binary}\n${subcommand}`);
  };
  for (const { binary, subcommand, args, postProcess } of tools.flatMap((tool) => tool.executions)) {
    add(binary, subcommand);
    add(postProcess?.binary, postProcess?.subcommand ?? '');
    for (const { resolve, subcommandOverride } of args) {
      if (subcommandOverride !== undefined) add(binary, subcommandOverride);
      add(resolve?.binary, resolve?.subcommand ?? '');
    }
  }
  return pairs;
}

function lintTool(tool: DeclaredTool, pointer: string): PlacedComplaint[] {
  const advice: PlacedComplaint[] = [];
  const say = (at: string, message: string, hint: string): void =>
    void advice.push({ pointer: `${pointer}${at}`, message, hint });
  if (tool.description === '') say('', `"${tool.name}" has no description`, 'say in a sentence what it does');
  const mapped = new Set(tool.executions.flatMap(parametersOf));
  for (const name of Object.keys(propertiesOf(tool.parameters))) {
    if (!mapped.has(name)) {
      say(
        `/parameters/properties/${escapePointer(name)}`,
        `"${name}" of ${tool.name} never reaches the command`,
        'map it, or remove it',
      );
    }
  }
  for (const mapping of tool.executions.flatMap((execution) => execution.args)) {
    if (mapping.normalizeNewlines) {
      say(
        '',
        `${tool.name}: normalizeNewlines turns a typed \\n in "${mapping.param}" into a line end`,
        'let the caller send real line ends, and remove it',
      );
    }
    if (mapping.resolve?.onFailure === 'keep') {
      say(
        '',
        `${tool.name}: where the resolver of "${mapping.param}" fails, the value is used as it was given`,
        'add "onFailure": "reject"',
      );
    }
  }
  return advice;
}

function parametersOf({ args, when, postProcess, hints }: Execution): string[] {
  const named = (texts: readonly string[]): string[] =>
    texts.flatMap((text) => [...text.matchAll(/\$([A-Za-z_]\w*)/g)].map((match) => match[1]!));
  return [
    ...args.flatMap(({ param, resolve }) => [param, ...named(resolve?.args ?? [])]),
    ...(when ? [...when.present, ...when.absent] : []),
    ...named(postProcess?.args ?? []),
    ...hints.flatMap(({ whenArg }) => Object.keys(whenArg)),
  ];
}

function hasFreeArgument(tool: DeclaredTool, binary: string): boolean {
  return tool.executions.some(
    (execution) =>
      execution.binary === binary && execution.args.some((mapping) => isFree(mapping, tool.parameters)),
  );
}

function isFree(mapping: Mapping, parameters: JsonSchema): boolean {
  if (mapping.kind !== 'positional' && mapping.kind !== 'flag') return false;
  const schema = propertiesOf(parameters)[mapping.param];
  if (!isRecord(schema)) return true;
  const bound = 'enum' in schema || 'const' in schema || 'pattern' in schema;
  return !bound && !['integer', 'number', 'boolean'].includes(String(schema.type));
}

function propertiesOf(schema: JsonSchema): Record<string, unknown> {
  return isRecord(schema.properties) ? schema.properties : {};
}
