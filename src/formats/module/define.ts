// Typed definitions: what an author writes in code, checked and frozen, and the Tool it becomes.

import type { ToolContext } from '../../core/context.js';
import { ToolError } from '../../core/error.js';
import { describeFaults, describeOutputFaults } from '../../core/faults.js';
import { deepFreeze, isRecord, type Json } from '../../core/json.js';
import { isToolName, normalizeTags } from '../../core/name.js';
import { isFailedOutput } from '../../core/result.js';
import { acceptedTypes, followRef, type JsonSchema, NO_PARAMETERS, type Schema } from '../../core/schema.js';
import { parseSelectors } from '../../core/selector.js';
import type { FunctionAction, Tool, Traits } from '../../core/tool.js';
import { fillDefaults } from '../../schema/defaults.js';
import { createJsonSchema } from '../../schema/json.js';
import {
  createStandardSchema,
  type InputOf,
  isStandardSchema,
  type OutputOf,
  parseStandard,
  type StandardSchema,
} from '../../schema/standard.js';

/** What an author may write a schema as: one of a library, or the JSON Schema itself. */
export type DefinitionSchema = StandardSchema | JsonSchema;

/** What a tool may return instead of its result to say that it failed (MOD-13). */
export interface FailedOutput {
  readonly is_error: true;
  /** One of the error codes, or a word of the tool's own. */
  readonly error_type?: string;
  readonly message: string;
  readonly next_action_hint?: string;
}

/** What `execute` may return: what fits the output schema, or a failure. */
type ResultFor<Output> = InputOf<Output> | FailedOutput | Promise<InputOf<Output> | FailedOutput>;

/**
 * A tool as an author writes it. With the types of its schemas, `execute` is typed by them:
 * `{ … } satisfies ToolDefinition<typeof inputSchema, typeof outputSchema>`.
 */
export interface ToolDefinition<
  Input extends DefinitionSchema = DefinitionSchema,
  Output extends DefinitionSchema = DefinitionSchema,
> {
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
  /** Of the input object; left out: no parameters. */
  readonly inputSchema?: Input;
  readonly outputSchema?: Output;
  /** Gets what the input schema makes of the input: typed by a library's schema, unknown by a JSON Schema. */
  // A method, so that an author may annotate the input of a JSON Schema more narrowly.
  execute(input: OutputOf<Input>, context: ToolContext): ResultFor<Output>;
}

type Kind = 'string' | 'boolean' | 'function' | 'schema' | 'object' | 'duration' | 'strings' | 'array';

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
  inputSchema: 'schema',
  outputSchema: 'schema',
  execute: 'function',
};
const REQUIRED = ['name', 'description', 'execute'] as const;

/** Checks a definition and freezes it. Throws `invalid_definition` that names the field (TOOL-1). */
export function defineTool<
  Definition extends ToolDefinition<Input, Output>,
  Input extends DefinitionSchema = DefinitionSchema,
  Output extends DefinitionSchema = DefinitionSchema,
>(definition: Definition & ToolDefinition<Input, Output>): Definition {
  toTool(definition);
  // A library's schema fills itself in as it is used, and so stays as it is.
  for (const value of Object.values(definition)) if (!isStandardSchema(value)) deepFreeze(value);
  return Object.freeze(definition);
}

/** The Tool of a definition, and what else is known of it. */
export function toTool(definition: ToolDefinition, more: Pick<Traits, 'role'> = {}): Tool {
  assertDefinition(definition);
  const { name, description, inputSchema = NO_PARAMETERS, outputSchema } = definition;
  const input = schemaOf(name, 'inputSchema', () => toSchema(inputSchema, 'input'));
  const output =
    outputSchema === undefined
      ? undefined
      : schemaOf(name, 'outputSchema', () => toSchema(outputSchema, 'output'));
  assertPositionals(definition, input.json);
  return deepFreeze({
    name,
    description,
    input,
    ...(output === undefined ? {} : { output }),
    action: { kind: 'function', run: toRun(definition, input), body: definition.execute },
    origin: {
      format: 'module',
      uri: null,
      directory: null,
      source: null,
      digest: null,
      server: null,
      owner: 'program',
    },
    traits: { ...toTraits(definition), ...more },
  });
}

function toSchema(schema: DefinitionSchema, face: 'input' | 'output'): Schema {
  return isStandardSchema(schema)
    ? createStandardSchema(schema, face)
    : createJsonSchema(schema, { closed: face === 'input' });
}

// MOD-4, MOD-12: the function gets what its schema makes of the input, and its own result goes through its schema.
function toRun(definition: ToolDefinition, input: Schema): FunctionAction['run'] {
  const { name, inputSchema, outputSchema } = definition;
  // A built-in tool is also told who calls.
  const execute = definition.execute.bind(definition) as (...given: unknown[]) => unknown;
  const fills = !isStandardSchema(inputSchema) && JSON.stringify(input.json).includes('"default":');
  if (!fills && !isStandardSchema(inputSchema) && !isStandardSchema(outputSchema))
    return (value, context, ...told) => execute(value, context, ...told);
  return async (value, context, ...told) => {
    const given = isStandardSchema(inputSchema)
      ? await parseInput(name, inputSchema, input, value)
      : fillDefaults(value, input.json);
    const result = await execute(given, context, ...told);
    return isStandardSchema(outputSchema) && !isFailedOutput(result)
      ? parseOutput(name, outputSchema, result)
      : result;
  };
}

async function parseInput(
  name: string,
  schema: StandardSchema,
  input: Schema,
  value: unknown,
): Promise<unknown> {
  const parsed = await parseStandard(schema, value);
  if (parsed.ok) return parsed.value;
  throw describeFaults({ name, input }, parsed.faults);
}

async function parseOutput(name: string, schema: StandardSchema, result: unknown): Promise<unknown> {
  const parsed = await parseStandard(schema, result);
  if (parsed.ok) return parsed.value;
  throw describeOutputFaults(name, parsed.faults);
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
  schema: 'a JSON Schema, or a schema of a library that implements Standard Schema',
  object: 'an object',
  duration: 'a positive number of milliseconds',
  strings: 'an array of text',
  array: 'an array',
};

function isKind(value: unknown, kind: Kind): boolean {
  switch (kind) {
    case 'schema':
      return isRecord(value) || isStandardSchema(value);
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
