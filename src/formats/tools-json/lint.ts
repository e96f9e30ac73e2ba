// Lints a tools.json: unused entries and mappings that are riskier than necessary.

import { type Execution, type Mapping, resolversOf } from '../../core/command.js';
import { escapePointer, isRecord } from '../../core/json.js';
import type { Finding } from '../../core/problem.js';
import type { JsonSchema } from '../../core/schema.js';
import type { DeclaredTool, ToolsDescriptor } from './parse.js';

// Programs that run other programs, or write any file, through their arguments.
const EXEC_CAPABLE = new Set(
  `awk bash bun busybox cargo chroot curl dash deno docker doas env expect find gdb git go ionice ksh lua make man mysql nc
  nice node nohup npm npx parallel perl php pip podman prlimit psql python python3 rsync ruby sed setpriv setsid sh sqlite3
  ssh stdbuf strace sudo systemd-run tar tclsh tee time timeout unshare vi vim watch wget xargs zip zsh`.split(/\s+/),
);

/**
 * Returns warnings; pointers are those of the one-file layout. What nothing uses is reported only if the descriptor is
 * complete: an execution with an error may use it.
 */
export function lintToolsDescriptor({ tools, allowlist }: ToolsDescriptor, isComplete = true): Finding[] {
  const findings: Finding[] = [];
  const used = usedPairs(tools);
  for (const [binary, subcommands] of Object.entries(allowlist)) {
    const pointer = `/allowlist/${escapePointer(binary)}`;
    subcommands.forEach((subcommand, index) => {
      if (!isComplete || used.has(`${binary}\n${subcommand}`)) return;
      findings.push({ pointer: `${pointer}/${index}`, message: `"${subcommand}" is never used`, hint: 'remove it' });
    });
    if (EXEC_CAPABLE.has(binary) && tools.some((tool) => hasFreeArgument(tool, binary))) {
      findings.push({
        pointer,
        message: `"${binary}" can run programs through its arguments`,
        hint: 'restrict each argument with an enum or a pattern',
      });
    }
  }
  return [...findings, ...tools.flatMap((tool, index) => lintTool(tool, `/tools/${index}`, isComplete))];
}

function usedPairs(tools: readonly DeclaredTool[]): Set<string> {
  const pairs = new Set<string>();
  const add = (binary: string | undefined, subcommand: string): void => {
    if (binary !== undefined) pairs.add(`${binary}\n${subcommand}`);
  };
  for (const execution of tools.flatMap((tool) => tool.executions)) {
    const { binary, subcommand, args } = execution;
    for (const used of [subcommand, ...args.map(({ subcommandOverride }) => subcommandOverride)])
      if (used !== undefined) add(binary, used);
    for (const resolver of resolversOf(execution)) add(resolver.binary, resolver.subcommand);
  }
  return pairs;
}

function lintTool(tool: DeclaredTool, pointer: string, isComplete: boolean): Finding[] {
  const findings: Finding[] = [];
  const report = (message: string, hint: string, at = ''): void =>
    void findings.push({ pointer: `${pointer}${at}`, message, hint });
  if (tool.description === '') report(`"${tool.name}" has no description`, 'describe it in a sentence');
  const mapped = new Set(tool.executions.flatMap(parametersOf));
  for (const name of Object.keys(propertiesOf(tool.parameters))) {
    if (isComplete && !mapped.has(name)) {
      report(
        `"${name}" of ${tool.name} is never passed to the command`,
        'map it, or remove it',
        `/parameters/properties/${escapePointer(name)}`,
      );
    }
  }
  for (const { param, normalizeNewlines, resolve } of tool.executions.flatMap(({ args }) => args)) {
    if (normalizeNewlines) {
      report(
        `${tool.name}: normalizeNewlines turns a typed \\n in "${param}" into a newline`,
        'remove it; callers can send real newlines',
      );
    }
    if (resolve?.onFailure === 'keep') {
      report(
        `${tool.name}: if the resolver of "${param}" fails, the original value is used`,
        'add "onFailure": "reject"',
      );
    }
  }
  const required = Array.isArray(tool.parameters.required) ? tool.parameters.required : [];
  for (const { wrapper, args } of tool.executions) {
    if (wrapper !== undefined)
      report(
        `${tool.name}: ${wrapper[0]} starts the command and is not in the allowlist`,
        'make sure that its arguments are fixed and start nothing else',
      );
    const positionals = args.filter(({ kind }) => kind === 'positional');
    for (const { param, optional, absentDefault } of positionals.slice(0, -1))
      if (!required.includes(param) && !optional && absentDefault === undefined)
        report(
          `${tool.name}: without "${param}" the arguments after it would move up, so such a call is refused`,
          `add "${param}" to required, or "optional": true to its mapping`,
        );
  }
  return findings;
}

function parametersOf(execution: Execution): string[] {
  const { args, when, hints } = execution;
  const templates = resolversOf(execution).flatMap((resolver) => resolver.args);
  return [
    ...args.map(({ param }) => param),
    ...templates.flatMap((text) => [...text.matchAll(/\$([A-Za-z_]\w*)/g)].map((match) => match[1]!)),
    ...(when ? [...when.present, ...when.absent] : []),
    ...hints.flatMap(({ whenArg }) => Object.keys(whenArg)),
  ];
}

function hasFreeArgument(tool: DeclaredTool, binary: string): boolean {
  return tool.executions.some(
    (execution) => execution.binary === binary && execution.args.some((mapping) => isFree(mapping, tool.parameters)),
  );
}

function isFree(mapping: Mapping, parameters: JsonSchema): boolean {
  if (mapping.kind !== 'positional' && mapping.kind !== 'flag') return false;
  const schema = propertiesOf(parameters)[mapping.param];
  if (!isRecord(schema)) return true;
  const restricted = 'enum' in schema || 'const' in schema || 'pattern' in schema;
  return !restricted && !['integer', 'number', 'boolean'].includes(String(schema.type));
}

function propertiesOf(schema: JsonSchema): Record<string, unknown> {
  return isRecord(schema.properties) ? schema.properties : {};
}
