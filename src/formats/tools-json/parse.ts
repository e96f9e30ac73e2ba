// Parses tools.json in both layouts: tools, allowlist and executions, with a JSON Pointer for every problem.

import type { Allowlist, Execution } from '../../core/command.js';
import { escapePointer, isRecord } from '../../core/json.js';
import { isToolName } from '../../core/name.js';
import type { Finding } from '../../core/problem.js';
import type { SandboxRequest } from '../../core/sandbox.js';
import { cleanSchema, type JsonSchema, NO_PARAMETERS } from '../../core/schema.js';
import { type Report, readShape } from '../../core/strict-object.js';
import { quoteOutside, sanitize } from '../../core/text.js';
import { parseSandboxRequest } from '../../process/sandbox/applied.js';
import { crossCheck, type PlacedExecution } from './cross-check.js';
import { readExecution } from './execution.js';
import { hasWholeSubcommands, isProgramName } from './generation.js';

export interface DeclaredTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
  readonly executions: readonly Execution[];
  /** The sandbox that it asks for. */
  readonly sandbox?: SandboxRequest;
}

export interface ToolsDescriptor {
  readonly tools: readonly DeclaredTool[];
  readonly allowlist: Allowlist;
  /** Whether a subcommand with spaces is one argument. */
  readonly wholeSubcommands: boolean;
}

export interface DescriptorFiles {
  /** The parsed `tools.json`. */
  readonly tools: unknown;
  /** The parsed `allowlist.json` and `execution.json` of the split layout. */
  readonly allowlist?: unknown;
  readonly execution?: unknown;
}

export interface DescriptorReading {
  /** Absent if there are findings (TJS-3). */
  readonly descriptor?: ToolsDescriptor;
  /** The parts that could be read, for lint; absent if there are none. */
  readonly draft?: ToolsDescriptor;
  /** Each with the name of its file as `path`. */
  readonly findings: readonly Finding[];
  /** Like findings, for a descriptor that can be used. */
  readonly warnings: readonly Finding[];
}

/** A part of the descriptor: where its pointers start, and how its problems are reported. */
interface Part {
  readonly base: string;
  readonly report: Report;
}

/** Whether the allowlist and executions of a parsed `tools.json` are in separate files. */
export function isSplitLayout(tools: unknown): boolean {
  return Array.isArray(tools);
}

export function readToolsDescriptor(files: DescriptorFiles): DescriptorReading {
  const findings: Finding[] = [];
  const warnings: Finding[] = [];
  const split = isSplitLayout(files.tools);
  const part = (name: 'tools' | 'allowlist' | 'execution'): Part => ({
    base: split ? '' : `/${name}`,
    report: (pointer, message, hint) =>
      findings.push({ pointer, message, hint, path: split ? `${name}.json` : 'tools.json' }),
  });
  const parts = split
    ? files
    : (readShape(
        files.tools,
        '',
        { tools: '!array', allowlist: '!object', execution: '!array' },
        part('tools').report,
      ) as DescriptorFiles | undefined);
  if (parts === undefined) return { findings, warnings };

  const tools = readTools(parts.tools, part('tools'));
  const allowlist = readAllowlist(parts.allowlist, part('allowlist'));
  const executions = readExecutions(parts.execution, part('execution'));
  if (findings.length === 0) {
    crossCheck({
      tools,
      toolsPointer: part('tools').base,
      allowlist,
      executions,
      reportTool: part('tools').report,
      report: part('execution').report,
      warn: (pointer, message, hint) =>
        warnings.push({ pointer, message, hint, path: split ? 'execution.json' : 'tools.json' }),
    });
  }
  const draft: ToolsDescriptor = {
    tools: tools.map((tool) => ({
      ...tool,
      executions: executions.filter((entry) => entry.tool === tool.name).map((entry) => entry.execution),
    })),
    allowlist,
    wholeSubcommands: hasWholeSubcommands(files.tools),
  };
  return findings.length > 0 ? { draft, findings, warnings: [] } : { descriptor: draft, draft, findings, warnings };
}

function readTools(value: unknown, { base, report }: Part): Omit<DeclaredTool, 'executions'>[] {
  const names = new Set<string>();
  const shape = { name: '!non-empty string', description: 'string', parameters: 'object', sandbox: 'string' } as const;
  return (value as unknown[]).flatMap((entry, index) => {
    const pointer = `${base}/${index}`;
    const tool = readShape(entry, pointer, shape, report);
    if (tool === undefined) return [];
    const name = tool.name as string;
    if (!isToolName(name)) {
      report(
        `${pointer}/name`,
        `"${quoteOutside(name, 60)}" is not a tool name`,
        'use at most 64 letters, digits, _ and -',
      );
      return [];
    }
    if (names.has(name)) report(`${pointer}/name`, `"${name}" is declared twice`, 'rename one');
    names.add(name);
    return [
      {
        name,
        description: sanitize((tool.description as string | undefined) ?? ''),
        parameters: cleanSchema((tool.parameters as JsonSchema | undefined) ?? NO_PARAMETERS),
        sandbox: typeof tool.sandbox === 'string' ? parseSandboxRequest(tool.sandbox) : undefined,
      },
    ];
  });
}

function readAllowlist(value: unknown, { base, report }: Part): Allowlist {
  if (!isRecord(value)) {
    report(base, 'the allowlist is missing', 'write { "binary": ["subcommand"] }');
    return {};
  }
  const allowlist: Record<string, readonly string[]> = {};
  for (const [binary, subcommands] of Object.entries(value)) {
    const pointer = `${base}/${escapePointer(binary)}`;
    if (!isProgramName(binary)) {
      report(
        pointer,
        `"${quoteOutside(binary, 60)}" is not a program name`,
        'write the name as found on PATH, without a directory',
      );
    } else if (!Array.isArray(subcommands) || subcommands.some((entry) => typeof entry !== 'string')) {
      report(pointer, 'must be an array of subcommands', 'write ["search", "list"]');
    } else {
      allowlist[binary] = subcommands;
    }
  }
  return allowlist;
}

function readExecutions(value: unknown, { base, report }: Part): PlacedExecution[] {
  if (!Array.isArray(value)) {
    report(base, 'the executions are missing', 'write an array with an entry for each tool');
    return [];
  }
  return value.flatMap((entry, index) => {
    const pointer = `${base}/${index}`;
    const read = readExecution(entry, { pointer, report });
    return read === undefined ? [] : [{ ...read, pointer }];
  });
}
