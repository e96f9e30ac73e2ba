// Typed definitions: what an author writes in code, checked and frozen, and the Tool it becomes.

import type { ToolContext } from '../../core/context.js';
import { ToolError } from '../../core/error.js';
import { deepFreeze, isRecord, type Json } from '../../core/json.js';
import { isToolName, normalizeTags } from '../../core/name.js';
import { acceptedTypes, followRef, type JsonSchema, NO_PARAMETERS } from '../../core/schema.js';
import { parseSelectors } from '../../core/selector.js';
import type { Tool, Traits } from '../../core/tool.js';
import { createJsonSchema } from '../../schema/json.js';

/** A tool as an author writes it. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly group?: string;
  readonly tags?: readonly string[];
  readonly hidden?: boolean;
  readonly terminal?: boolean;
  readonly readOnly?: boolean;
  readonly destructive?: boolean;
  readonly idempotent?: boolean;
  readonly openWorld?: boolean;
  readonly timeoutMs?: number;
  /** Selectors of the tools that it may call in turn; left out: no limit of its own. */
  readonly allowedTools?: readonly string[];
  readonly examples?: readonly Json[];
  /** How it is given at a command line: parameters that need no flag, in order; an array last (MOD-21). */
  readonly cli?: { readonly positional?: readonly string[] };
  /** JSON Schema (2020-12) of the input object; left out: no parameters. */
  readonly inputSchema?: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly execute: (input: never, context: ToolContext) => unknown;
}

type Kind = 'string' | 'boolean' | 'function' | 'object' | 'duration' | 'strings' | 'array';

const FIELDS: Readonly<Record<keyof ToolDefinition, Kind>> = {
  name: 'string',
  description: 'string',
  group: 'string',
  tags: 'strings',
  hidden: 'boolean',
  terminal: 'boolean',
  readOnly: 'boolean',
  destructive: 'boolean',
  idempotent: 'boolean',
  openWorld: 'boolean',
  timeoutMs: 'duration',
  allowedTools: 'strings',
  examples: 'array',
  cli: 'object',
  inputSchema: 'object',
  outputSchema: 'object',
  execute: 'function',
};
const REQUIRED = ['name', 'description', 'execute'] as const;

/** Checks a definition and freezes it. Throws `invalid_definition` that names the field (TOOL-1). */
export function defineTool<Definition extends ToolDefinition>(definition: Definition): Definition {
  assertDefinition(definition);
  toTool(definition);
  return deepFreeze(definition);
}

/** The Tool of a definition. */
export function toTool(definition: ToolDefinition): Tool {
  assertDefinition(definition);
  const { name, description, inputSchema = NO_PARAMETERS, outputSchema, execute } = definition;
  assertPositionals(definition, inputSchema);
  return deepFreeze({
    name,
    description,
    input: schemaOf(name, 'inputSchema', () => createJsonSchema(inputSchema, { closed: true })),
    ...(outputSchema === undefined
      ? {}
      : { output: schemaOf(name, 'outputSchema', () => createJsonSchema(outputSchema)) }),
    action: { kind: 'function', run: execute as (input: Json, context: ToolContext) => unknown },
    origin: {
      format: 'module',
      uri: null,
      directory: null,
      source: null,
      digest: null,
      server: null,
      owner: 'program',
    },
    traits: toTraits(definition),
  });
}

function toTraits(definition: ToolDefinition): Traits {
  const { group, timeoutMs, readOnly, destructive, idempotent, openWorld, allowedTools } = definition;
  return {
    ...(group === undefined ? {} : { group }),
    tags: normalizeTags(definition.tags ?? []),
    hidden: definition.hidden ?? false,
    terminal: definition.terminal ?? false,
    ...(readOnly === undefined ? {} : { readOnly }),
    ...(destructive === undefined ? {} : { destructive }),
    ...(idempotent === undefined ? {} : { idempotent }),
    ...(openWorld === undefined ? {} : { openWorld }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(allowedTools === undefined ? {} : { allowedTools }),
    examples: definition.examples ?? [],
    ...(definition.cli?.positional === undefined ? {} : { positional: definition.cli.positional }),
  };
}

function assertPositionals({ name, cli }: ToolDefinition, schema: JsonSchema): void {
  const unknown = Object.keys(cli ?? {}).find((key) => key !== 'positional');
  if (unknown !== undefined) throw bad(name, 'cli', `has no field "${unknown}"`);
  const positional: unknown = cli?.positional;
  if (positional === undefined) return;
  if (!isKind(positional, 'strings')) throw bad(name, 'cli.positional', `must be ${KINDS.strings}`);
  const names = positional as readonly string[];
  const properties = isRecord(schema.properties) ? schema.properties : {};
  names.forEach((parameter, index) => {
    if (!Object.hasOwn(properties, parameter) || names.indexOf(parameter) !== index)
      throw bad(name, 'cli.positional', `must name parameters, each once; "${parameter}" is not one`);
    const isArray = acceptedTypes(followRef(properties[parameter], schema), schema).has('array');
    if (isArray && index < names.length - 1)
      throw bad(
        name,
        'cli.positional',
        `must have the array "${parameter}" last, since it takes all that is left`,
      );
  });
}

function schemaOf<T>(name: string, field: string, create: () => T): T {
  try {
    return create();
  } catch (error) {
    throw bad(name, field, (error as Error).message);
  }
}

function assertDefinition(definition: unknown): asserts definition is ToolDefinition {
  if (!isRecord(definition)) throw bad('a tool', 'definition', 'must be an object');
  const name = typeof definition.name === 'string' ? definition.name : 'a tool';
  for (const field of REQUIRED) {
    if (definition[field] === undefined) throw bad(name, field, 'is missing');
  }
  for (const [field, value] of Object.entries(definition)) {
    const kind = Object.hasOwn(FIELDS, field) ? FIELDS[field as keyof ToolDefinition] : undefined;
    if (kind === undefined) throw bad(name, field, 'is not a field of a definition');
    if (value !== undefined && !isKind(value, kind)) throw bad(name, field, `must be ${KINDS[kind]}`);
  }
  if (!isToolName(definition.name as string)) {
    throw bad(
      name,
      'name',
      'must be letters, digits, _ and -, at most 64, after an optional namespace and colon',
    );
  }
  if (definition.allowedTools !== undefined) {
    try {
      parseSelectors(definition.allowedTools as readonly string[]);
    } catch (error) {
      throw bad(name, 'allowedTools', `cannot be read: ${(error as Error).message}`);
    }
  }
  if ((definition.description as string).trim() === '') throw bad(name, 'description', 'is empty');
}

const KINDS: Readonly<Record<Kind, string>> = {
  string: 'text',
  boolean: 'true or false',
  function: 'a function',
  object: 'an object',
  duration: 'a positive number of milliseconds',
  strings: 'an array of text',
  array: 'an array',
};

function isKind(value: unknown, kind: Kind): boolean {
  switch (kind) {
    case 'object':
      return isRecord(value);
    case 'array':
      return Array.isArray(value);
    case 'strings':
      return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
    case 'duration':
      return typeof value === 'number' && value > 0 && value < 2 ** 31;
    default:
      return typeof value === kind;
  }
}

function bad(name: string, field: string, problem: string): ToolError {
  return new ToolError('invalid_definition', `${name}: ${field} ${problem}`, {
    hint: `mend the field "${field}" of the definition`,
    data: { field },
  });
}
