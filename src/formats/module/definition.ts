// The type of a tool definition, and the checks of its fields.

import type { ToolContext } from '../../core/context.js';
import { ToolError } from '../../core/error.js';
import { isRecord, type Json } from '../../core/json.js';
import { isToolName } from '../../core/name.js';
import { acceptedTypes, followRef, type JsonSchema } from '../../core/schema.js';
import { parseSelectors } from '../../core/selector.js';
import { type InputOf, isStandardSchema, type OutputOf, type StandardSchema } from '../../schema/standard.js';

/** A schema of a library that implements Standard Schema, or a JSON Schema. */
export type DefinitionSchema = StandardSchema | JsonSchema;

/** Returned by a tool instead of its result to report a failure (MOD-13). */
export interface FailedOutput {
  readonly is_error: true;
  /** One of the error codes, or a code of the tool's own. */
  readonly error_type?: string;
  readonly message: string;
  readonly next_action_hint?: string;
}

/** What `execute` may return: a value that matches the output schema, or a failure. */
type ResultFor<Output> = InputOf<Output> | FailedOutput | Promise<InputOf<Output> | FailedOutput>;

/**
 * A tool as written by its author. With type arguments, `execute` is typed by its schemas:
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
  /** Whether it takes so long that MCP clients can call it only as a task (SRV-83). */
  readonly taskOnly?: boolean;
  /** The sandbox profile it runs in: `workdir`, or `workdir preferred` if it may run without (EXE-10). */
  readonly sandbox?: string;
  /** Selectors of the tools that it may call; no restriction if absent. */
  readonly allowedTools?: readonly string[];
  readonly examples?: readonly Json[];
  /** Parameters that need no flag on a command line, in order; an array must be last (MOD-21). */
  readonly cli?: { readonly positional?: readonly string[] };
  /** Schema of the input object; no parameters if absent. */
  readonly inputSchema?: Input;
  readonly outputSchema?: Output;
  /** Receives the parsed input: typed by a library's schema, unknown with a JSON Schema. */
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
  taskOnly: 'boolean',
  sandbox: 'string',
  allowedTools: 'strings',
  examples: 'array',
  cli: 'object',
  inputSchema: 'schema',
  outputSchema: 'schema',
  execute: 'function',
};
const REQUIRED = ['name', 'description', 'execute'] as const;
const KINDS: Readonly<Record<Kind, string>> = {
  string: 'a string',
  boolean: 'true or false',
  function: 'a function',
  schema: 'a JSON Schema, or a schema of a library that implements Standard Schema',
  object: 'an object',
  duration: 'a positive number of milliseconds',
  strings: 'an array of strings',
  array: 'an array',
};

/** Throws `invalid_definition` that names the field (TOOL-1). */
export function assertDefinition(definition: unknown): asserts definition is ToolDefinition {
  if (!isRecord(definition)) throw invalidField('a tool', 'definition', 'must be an object');
  const name = typeof definition.name === 'string' ? definition.name : 'a tool';
  for (const field of REQUIRED) {
    if (definition[field] === undefined) throw invalidField(name, field, 'is missing');
  }
  for (const [field, value] of Object.entries(definition)) {
    const kind = Object.hasOwn(FIELDS, field) ? FIELDS[field as keyof ToolDefinition] : undefined;
    if (kind === undefined) throw invalidField(name, field, 'is not a field of a definition');
    if (value !== undefined && !isKind(value, kind)) throw invalidField(name, field, `must be ${KINDS[kind]}`);
  }
  if (!isToolName(definition.name as string)) {
    throw invalidField(
      name,
      'name',
      'must be at most 64 letters, digits, _ and -, after an optional namespace and colon',
    );
  }
  if (definition.allowedTools !== undefined) {
    try {
      parseSelectors(definition.allowedTools as readonly string[]);
    } catch (error) {
      throw invalidField(name, 'allowedTools', `is invalid: ${(error as Error).message}`);
    }
  }
  if ((definition.description as string).trim() === '') throw invalidField(name, 'description', 'is empty');
}

/** Checks `cli.positional` against the input schema. */
export function assertPositionals({ name, cli }: ToolDefinition, schema: JsonSchema): void {
  const unknown = Object.keys(cli ?? {}).find((key) => key !== 'positional');
  if (unknown !== undefined) throw invalidField(name, 'cli', `has no field "${unknown}"`);
  const positional: unknown = cli?.positional;
  if (positional === undefined) return;
  if (!isKind(positional, 'strings')) throw invalidField(name, 'cli.positional', `must be ${KINDS.strings}`);
  const names = positional as readonly string[];
  const properties = isRecord(schema.properties) ? schema.properties : {};
  names.forEach((parameter, index) => {
    if (!Object.hasOwn(properties, parameter) || names.indexOf(parameter) !== index)
      throw invalidField(name, 'cli.positional', `must name parameters, each once; "${parameter}" is not one`);
    const isArray = acceptedTypes(followRef(properties[parameter], schema), schema).has('array');
    if (isArray && index < names.length - 1)
      throw invalidField(name, 'cli.positional', `must have the array "${parameter}" last`);
  });
}

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

export function invalidField(name: string, field: string, problem: string, cause?: unknown): ToolError {
  return new ToolError('invalid_definition', `${name}: ${field} ${problem}`, {
    hint: `fix the field "${field}" of the definition`,
    data: { field },
    cause,
  });
}
