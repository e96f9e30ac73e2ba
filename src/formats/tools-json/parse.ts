// Reads tools.json in both layouts: tools, allowlist and executions, with every complaint at its JSON pointer.

import type { Allowlist, Execution, Resolver } from '../../core/command.js';
import { escapePointer, isRecord } from '../../core/json.js';
import { isToolName } from '../../core/name.js';
import { type JsonSchema, NO_PARAMETERS } from '../../core/schema.js';
import { type Complain, readShape } from '../../core/strict-object.js';
import { nearest, quoteOutside } from '../../core/text.js';
import { readExecution } from './execution.js';

export interface DeclaredTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
  readonly executions: readonly Execution[];
}

export interface ToolsDescriptor {
  readonly tools: readonly DeclaredTool[];
  readonly allowlist: Allowlist;
}

/** A complaint with the file that it is about. */
export interface FileComplaint {
  readonly file: string;
  readonly pointer: string;
  readonly message: string;
  readonly hint: string;
}

export interface DescriptorFiles {
  /** The parsed `tools.json`. */
  readonly tools: unknown;
  /** The parsed `allowlist.json` and `execution.json` of the split layout; undefined where there is none. */
  readonly allowlist?: unknown;
  readonly execution?: unknown;
}

export interface DescriptorReading {
  /** Absent where anything is wrong: none of it is run (TJS-3). */
  readonly descriptor?: ToolsDescriptor;
  readonly complaints: readonly FileComplaint[];
}

/** Whether this `tools.json` has its allowlist and executions in files beside it. */
export function isSplitLayout(tools: unknown): boolean {
  return Array.isArray(tools);
}

export function readToolsDescriptor(files: DescriptorFiles): DescriptorReading {
  const complaints: FileComplaint[] = [];
  const split = isSplitLayout(files.tools);
  // In the split layout each part is a file of its own, and pointers begin in it.
  const place = (part: 'tools' | 'allowlist' | 'execution') => ({
    base: split ? '' : `/${part}`,
    complain: ((complaint) =>
      complaints.push({ file: split ? `${part}.json` : 'tools.json', ...complaint })) as Complain,
  });
  const parts = split ? files : splitRoot(files.tools, place('tools').complain);
  if (parts === undefined) return { complaints };

  const tools = readTools(parts.tools, place('tools'));
  const allowlist = readAllowlist(parts.allowlist, place('allowlist'));
  const executions = readExecutions(parts.execution, split, place('execution'));
  if (complaints.length > 0) return { complaints };
  crossCheck(tools, allowlist, executions, place('execution'), place('tools'));
  if (complaints.length > 0) return { complaints };
  return {
    descriptor: {
      tools: tools.map((tool) => ({
        ...tool,
        executions: executions.filter((entry) => entry.tool === tool.name).map((entry) => entry.execution),
      })),
      allowlist,
    },
    complaints,
  };
}

interface Place {
  readonly base: string;
  readonly complain: Complain;
}

interface PlacedExecution {
  readonly tool: string;
  readonly pointer: string;
  readonly execution: Execution;
}

function splitRoot(root: unknown, complain: Complain): DescriptorFiles | undefined {
  const fits = readShape(root, '', { tools: '!list', allowlist: '!object', execution: '!list' }, complain);
  return fits && { tools: fits.tools, allowlist: fits.allowlist, execution: fits.execution };
}

function readTools(value: unknown, { base, complain }: Place): Omit<DeclaredTool, 'executions'>[] {
  const names = new Set<string>();
  const shape = { name: '!words', description: 'text', parameters: 'object' } as const;
  return (value as unknown[]).flatMap((entry, index) => {
    const pointer = `${base}/${index}`;
    const tool = readShape(entry, pointer, shape, complain);
    if (tool === undefined) return [];
    const name = tool.name as string;
    if (!isToolName(name)) {
      complain({
        pointer: `${pointer}/name`,
        message: `"${quoteOutside(name, 60)}" is not a tool name`,
        hint: 'use letters, digits, _ and -, at most 64',
      });
      return [];
    }
    if (names.has(name)) {
      complain({ pointer: `${pointer}/name`, message: `"${name}" is declared twice`, hint: 'rename one' });
    }
    names.add(name);
    return [
      {
        name,
        description: (tool.description as string | undefined) ?? '',
        parameters: (tool.parameters as JsonSchema | undefined) ?? NO_PARAMETERS,
      },
    ];
  });
}

function readAllowlist(value: unknown, { base, complain }: Place): Allowlist {
  if (!isRecord(value)) {
    complain({
      pointer: base,
      message: 'an allowlist is missing',
      hint: 'write { "binary": ["subcommand"] }',
    });
    return {};
  }
  const allowlist: Record<string, readonly string[]> = {};
  for (const [binary, subcommands] of Object.entries(value)) {
    const pointer = `${base}/${escapePointer(binary)}`;
    if (!/^[A-Za-z0-9_][A-Za-z0-9_.+-]*$/.test(binary)) {
      complain({
        pointer,
        message: `"${quoteOutside(binary, 60)}" is not the bare name of a program`,
        hint: 'name it as it is found on PATH, without a directory',
      });
    } else if (!Array.isArray(subcommands) || subcommands.some((entry) => typeof entry !== 'string')) {
      complain({ pointer, message: 'must be an array of subcommands', hint: 'write ["search", "list"]' });
    } else {
      allowlist[binary] = subcommands;
    }
  }
  return allowlist;
}

function readExecutions(value: unknown, split: boolean, { base, complain }: Place): PlacedExecution[] {
  if (!Array.isArray(value)) {
    complain({
      pointer: base,
      message: 'the executions are missing',
      hint: 'write an array with an entry for each tool',
    });
    return [];
  }
  return value.flatMap((entry, index) => {
    const pointer = `${base}/${index}`;
    const read = readExecution(entry, pointer, split, complain);
    return read === undefined ? [] : [{ ...read, pointer }];
  });
}

// TJS-4: every part must hold together with the others, or none is used.
function crossCheck(
  tools: readonly Omit<DeclaredTool, 'executions'>[],
  allowlist: Allowlist,
  executions: readonly PlacedExecution[],
  { complain }: Place,
  toolsPlace: Place,
): void {
  for (const { tool, execution, pointer } of executions) {
    const declared = tools.find((candidate) => candidate.name === tool);
    if (declared === undefined) {
      complain({
        pointer: `${pointer}/tool`,
        message: `"${quoteOutside(tool, 60)}" is not declared`,
        hint: suggest(
          tool,
          tools.map((candidate) => candidate.name),
        ),
      });
      continue;
    }
    checkPair(allowlist, execution.binary, execution.subcommand, pointer, complain);
    checkParameters(declared.parameters, execution, pointer, complain);
    execution.args.forEach((mapping, index) => {
      const at = `${pointer}/args/${index}`;
      if (mapping.subcommandOverride !== undefined) {
        checkPair(
          allowlist,
          execution.binary,
          mapping.subcommandOverride,
          at,
          complain,
          'subcommandOverride',
        );
      }
      checkResolver(allowlist, mapping.resolve, `${at}/resolveCommand`, complain);
    });
    checkResolver(allowlist, execution.postProcess, `${pointer}/postProcess`, complain);
  }
  tools.forEach((tool, index) => {
    checkAlternatives(tool.name, executions, `${toolsPlace.base}/${index}`, toolsPlace.complain, complain);
  });
}

function checkPair(
  allowlist: Allowlist,
  binary: string,
  subcommand: string,
  pointer: string,
  complain: Complain,
  key = 'subcommand',
): void {
  const listed = Object.hasOwn(allowlist, binary) ? allowlist[binary] : undefined;
  if (listed === undefined) {
    complain({
      pointer: `${pointer}/binary`,
      message: `"${quoteOutside(binary, 60)}" is not in the allowlist`,
      hint: suggest(binary, Object.keys(allowlist)),
    });
  } else if (!listed.includes(subcommand)) {
    complain({
      pointer: `${pointer}/${key}`,
      message: `"${quoteOutside(subcommand, 60)}" is not in allowlist["${binary}"]`,
      hint: suggest(subcommand, listed),
    });
  }
}

// TJS-17: also beside a script, since the binary runs where scripts are switched off.
function checkResolver(
  allowlist: Allowlist,
  resolver: Resolver | undefined,
  pointer: string,
  complain: Complain,
): void {
  if (resolver?.binary === undefined) return;
  checkPair(allowlist, resolver.binary, resolver.subcommand, pointer, complain);
}

function checkParameters(
  parameters: JsonSchema,
  execution: Execution,
  pointer: string,
  complain: Complain,
): void {
  const properties = isRecord(parameters.properties) ? Object.keys(parameters.properties) : [];
  const check = (name: string, at: string): void => {
    if (properties.includes(name)) return;
    complain({
      pointer: at,
      message: `"${quoteOutside(name, 60)}" is not a parameter of the tool`,
      hint: suggest(name, properties),
    });
  };
  execution.args.forEach((mapping, index) => {
    if (mapping.kind !== 'literal') check(mapping.param, `${pointer}/args/${index}/param`);
  });
  for (const part of ['present', 'absent'] as const) {
    execution.when?.[part].forEach((name, index) => {
      check(name, `${pointer}/paramCondition/${part}/${index}`);
    });
  }
  execution.hints.forEach(({ whenArg }, index) => {
    for (const name of Object.keys(whenArg))
      check(name, `${pointer}/hintConditions/${index}/whenArg/${escapePointer(name)}`);
  });
}

// Several executions of one tool must differ in their conditions, with at most one that has none.
function checkAlternatives(
  name: string,
  executions: readonly PlacedExecution[],
  toolPointer: string,
  complainOfTool: Complain,
  complain: Complain,
): void {
  const own = executions.filter((entry) => entry.tool === name);
  if (own.length === 0) {
    complainOfTool({
      pointer: toolPointer,
      message: `"${name}" has no execution`,
      hint: `add one: { "tool": "${name}", "binary": …, "subcommand": … }`,
    });
  }
  const seen = new Set<string>();
  for (const { execution, pointer } of own) {
    const key = JSON.stringify([execution.when ?? null, execution.binGroup ?? null]);
    if (seen.has(key)) {
      complain({
        pointer,
        message: `a second execution of "${name}" under the same condition`,
        hint: 'tell them apart with paramCondition: { "present": [...], "absent": [...] }',
      });
    }
    seen.add(key);
  }
}

function suggest(name: string, candidates: readonly string[]): string {
  const close = nearest(name, candidates);
  if (close.length > 0) return `did you mean "${close[0]}"?`;
  return candidates.length === 0 ? 'nothing is declared' : `there are ${candidates.slice(0, 10).join(', ')}`;
}
