// Parses tools.json in both layouts: tools, allowlist and executions, with a JSON Pointer for every problem.

import { type Allowlist, type Execution, isProgramName, PROGRAM_NAME } from '../../core/command.js';
import { toPointer } from '../../core/json.js';
import { isToolName, normalizeTags, TOOL_NAME_PATTERN } from '../../core/name.js';
import type { Finding } from '../../core/problem.js';
import { joinRequirements, type Requirements, requirements } from '../../core/requirements.js';
import type { SandboxRequest } from '../../core/sandbox.js';
import { cleanSchema, type JsonSchema, NO_PARAMETERS } from '../../core/schema.js';
import {
  boolean,
  checked,
  converted,
  described,
  later,
  list,
  object,
  optional,
  readShape,
  record,
  type Shape,
  type ShapeFault,
  string,
  strings,
  table,
  text,
} from '../../core/shape.js';
import { quoteOutside, sanitize } from '../../core/text.js';
import { parseSandboxRequest } from '../../process/sandbox/applied.js';
import { crossCheck } from './cross-check.js';
import { execution } from './execution.js';

export interface DeclaredTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
  readonly executions: readonly Execution[];
  /** The sandbox that it asks for. */
  readonly sandbox?: SandboxRequest;
  /** What must be there before a call. */
  readonly requires?: Requirements;
  readonly labels?: readonly string[];
  /** Its process goes on after the call. */
  readonly background?: true;
}

export interface ToolsDescriptor {
  readonly tools: readonly DeclaredTool[];
  readonly allowlist: Allowlist;
}

export interface DescriptorFiles {
  /** The parsed `tools.json`. */
  readonly tools: unknown;
  /** The parsed `allowlist.json` and `execution.json` of the split layout. */
  readonly allowlist?: unknown;
  readonly execution?: unknown;
}

export interface DescriptorReading {
  /** The parts that could be read; absent if there are none. Only for lint if there are findings (TJS-3). */
  readonly descriptor?: ToolsDescriptor;
  /** Each with the name of its file as `path`. */
  readonly findings: readonly Finding[];
  /** Like findings, for a descriptor that can be used. */
  readonly warnings: readonly Finding[];
}

const NULLS = { nullIsMissing: true };

/** A `tools.json` in one file. */
export const DESCRIPTOR = later(() =>
  object(
    {
      // For editors.
      $schema: optional(string),
      tools: checked(list(tool()), (tools, fail) => {
        for (const [index, { name }] of tools.entries())
          if (tools.findIndex((one) => one.name === name) < index)
            fail([index, 'name'], `"${name}" is declared twice`, 'rename one');
      }),
      allowlist: record(described(strings, 'an array of subcommands', 'write ["search", "list"]'), {
        findFault: (name) => (isProgramName(name) ? undefined : `"${quoteOutside(name, 60)}" is not a program name`),
        keyHint: 'write the name as found on PATH, without a directory',
        keyPattern: PROGRAM_NAME.source,
      }),
      execution: list(execution()),
    },
    NULLS,
  ),
);

function tool(): Shape<Omit<DeclaredTool, 'executions'>> {
  const entry = object(
    {
      name: text(),
      description: optional(string),
      parameters: optional(table),
      sandbox: optional(string),
      requires: optional(requirements),
      labels: optional(strings),
      background: optional(boolean),
    },
    NULLS,
  );
  const named = checked(
    entry,
    ({ name }, fail) => {
      const message = `"${quoteOutside(name, 60)}" is not a tool name`;
      if (!isToolName(name)) fail(['name'], message, 'use at most 64 letters, digits, _ and -');
    },
    { allOf: [{ properties: { name: { pattern: TOOL_NAME_PATTERN } } }] },
  );
  return converted(named, ({ name, description = '', parameters = NO_PARAMETERS, sandbox, requires, ...more }) => ({
    name,
    description: sanitize(description),
    parameters: cleanSchema(parameters as JsonSchema),
    sandbox: sandbox === undefined ? undefined : parseSandboxRequest(sandbox),
    requires: joinRequirements([requires]),
    labels: more.labels === undefined ? undefined : normalizeTags(more.labels),
    background: more.background === true ? true : undefined,
  }));
}

/** Whether the allowlist and executions of a parsed `tools.json` are in separate files. */
export function isSplitLayout(tools: unknown): boolean {
  return Array.isArray(tools);
}

export function readToolsDescriptor(files: DescriptorFiles): DescriptorReading {
  const split = isSplitLayout(files.tools);
  const { value, faults } = readShape(DESCRIPTOR, split ? files : files.tools);
  const toFinding = ({ path, message, hint }: Pick<ShapeFault, 'path' | 'message' | 'hint'>): Finding => {
    if (!split) return { pointer: toPointer(path), message, hint, path: 'tools.json' };
    // Each part is a file of its own.
    return { pointer: toPointer(path.slice(1)), message, hint, path: `${path[0]}.json` };
  };
  const findings: Finding[] = faults.map(toFinding);
  const warnings: Finding[] = [];
  if (value === undefined) return { findings, warnings };
  if (findings.length === 0)
    crossCheck(value, {
      report: (path, message, hint) => findings.push(toFinding({ path, message, hint })),
      warn: (path, message, hint) => warnings.push(toFinding({ path, message, hint })),
    });
  const descriptor: ToolsDescriptor = {
    tools: value.tools.map((one) => ({
      ...one,
      executions: value.execution.filter((entry) => entry.tool === one.name).map((entry) => entry.execution),
    })),
    allowlist: value.allowlist,
  };
  return { descriptor, findings, warnings: findings.length > 0 ? [] : warnings };
}
