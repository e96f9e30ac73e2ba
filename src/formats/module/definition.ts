// The type of a tool definition, and the checks of its fields.

import type { ToolContext } from '../../core/context.js';
import { ToolError, type ToolErrorOptions } from '../../core/error.js';
import { isRecord, type Json } from '../../core/json.js';
import { isToolName } from '../../core/name.js';
import { requirements } from '../../core/requirements.js';
import { acceptedTypes, followRef, type JsonSchema } from '../../core/schema.js';
import { parseSelectors } from '../../core/selector.js';
import {
  anything,
  boolean,
  callable,
  custom,
  formatPath,
  list,
  object,
  optional,
  readShape,
  string,
  strings,
} from '../../core/shape.js';
import type { InputOf, NoInput, OutputOf } from '../../core/typed.js';
import { isStandardSchema, type StandardSchema } from '../../schema/standard.js';

/** A schema of a library that implements Standard Schema, or a JSON Schema. */
export type DefinitionSchema = StandardSchema | JsonSchema;

/** Returned by a tool instead of its result to report a failure (MOD-13). */
export interface FailedOutput {
  /** Marks the value as a failure. */
  readonly is_error: true;
  /** One of the error codes, or a code of the tool's own. */
  readonly error_type?: string;
  /** What went wrong. */
  readonly message: string;
  /** What the caller can do next. */
  readonly next_action_hint?: string;
}

/** What `execute` receives. */
type ParsedInput<Input> = [Input] extends [never] ? NoInput : OutputOf<Input>;

/** What `execute` may return: a value that matches the output schema, or a failure. */
type ResultFor<Output> = [Output] extends [never]
  ? unknown
  : InputOf<Output> | FailedOutput | Promise<InputOf<Output> | FailedOutput>;

/**
 * A tool as written by its author. With type arguments, `execute` is typed by its schemas:
 * `{ … } satisfies ToolDefinition<typeof inputSchema, typeof outputSchema>`.
 */
export interface ToolDefinition<
  Input extends DefinitionSchema = DefinitionSchema,
  Output extends DefinitionSchema = DefinitionSchema,
> {
  /** The name by which it is called: letters, digits, `_` and `-`, after an optional `namespace:`. */
  readonly name: string;
  /** What it does and when to use it; models choose by it. */
  readonly description: string;
  /** The group that it is listed with; at a shell, `wield GROUP NAME`. */
  readonly group?: string;
  /** Words that rules and listings select it by. */
  readonly tags?: readonly string[];
  /** Not listed, and models cannot call it; other tools can. */
  readonly hidden?: boolean;
  /** Ends the agent loop that calls it. */
  readonly terminal?: boolean;
  /** Changes nothing: shown to clients, which may ask less often. */
  readonly readOnly?: boolean;
  /** May delete or overwrite something: a model's call needs approval, unless a rule allows it. */
  readonly destructive?: boolean;
  /** A repeated call has no further effect, so it can be retried. */
  readonly idempotent?: boolean;
  /** Reaches beyond this machine, such as the web: shown to clients. */
  readonly openWorld?: boolean;
  /** What its results contain, or that it sends something out: `untrusted`, `private`, `egress` or other names. */
  readonly labels?: readonly string[];
  /** Time limit of a call, in milliseconds; that of the configuration by default. */
  readonly timeoutMs?: number;
  /** Whether it takes so long that MCP clients can call it only as a task (SRV-83). */
  readonly taskOnly?: boolean;
  /** The sandbox profile it runs in: `workdir`, or `workdir preferred` if it may run without (EXE-10). */
  readonly sandbox?: string;
  /** What must be there before it is called: programs, variables, versions such as `'>=3.10'`. */
  readonly requires?: {
    /** Programs of the PATH; groups are alternatives. */
    readonly bins?: readonly (string | readonly string[])[];
    /** Programs of the PATH, one of which is enough. */
    readonly anyBins?: readonly string[];
    /** Environment variables. */
    readonly env?: readonly string[];
    /** Versions of Python. */
    readonly python?: string;
    /** Versions of Node. */
    readonly node?: string;
  };
  /** Selectors of the tools that it may call; no restriction if absent. */
  readonly allowedTools?: readonly string[];
  /** Inputs that are shown as examples. */
  readonly examples?: readonly Json[];
  /** Parameters that need no flag on a command line, in order; an array must be last (MOD-21). */
  readonly cli?: { readonly positional?: readonly string[] };
  /** Schema of the input object; no parameters if absent. */
  readonly inputSchema?: Input | undefined;
  /** Schema of the returned value, which is validated and types the result. */
  readonly outputSchema?: Output | undefined;
  // A method, so that an author may annotate the input of a JSON Schema more narrowly.
  /** Receives the parsed input: typed by a library's schema, unknown with a JSON Schema. */
  execute(input: ParsedInput<Input>, context: ToolContext): ResultFor<Output>;
}

/** A definition that was checked by `defineTool`. Its type keeps the name, the schemas and the function as written. */
export interface DefinedTool<Name extends string, Execute, Input, Output>
  extends Omit<ToolDefinition, 'name' | 'execute' | 'inputSchema' | 'outputSchema'> {
  /** The name by which the tool is called. */
  readonly name: Name;
  /** The schema of the input. */
  readonly inputSchema: [Input] extends [never] ? undefined : Input;
  /** The schema of the structured result. */
  readonly outputSchema: [Output] extends [never] ? undefined : Output;
  /** The function, which a test can call directly. */
  readonly execute: Execute;
}

type KeyOf<Definition> = Definition extends unknown ? keyof Definition : never;

/** For definitions written in a list: the type of a key that is not a field has no values, so the compiler reports it. */
export type NoOtherKeys<Definition extends ToolDefinition> = {
  readonly [Key in Exclude<KeyOf<Definition>, keyof ToolDefinition>]?: UnknownField<Key>;
};

interface UnknownField<Key> {
  readonly unknown: Key & never;
}

const schema = custom('a JSON Schema, or a schema of a library that implements Standard Schema', (value) =>
  isRecord(value) || isStandardSchema(value) ? value : undefined,
);
const flag = optional(boolean);
const DEFINITION = object({
  name: string,
  description: string,
  execute: callable,
  group: optional(string),
  tags: optional(strings),
  hidden: flag,
  terminal: flag,
  readOnly: flag,
  destructive: flag,
  idempotent: flag,
  openWorld: flag,
  labels: optional(strings),
  timeoutMs: optional(
    custom('a positive number of milliseconds', (value) =>
      typeof value === 'number' && value > 0 && value < 2 ** 31 ? value : undefined,
    ),
  ),
  taskOnly: flag,
  sandbox: optional(string),
  requires: optional(requirements),
  allowedTools: optional(strings),
  examples: optional(list(anything)),
  cli: optional(object({ positional: optional(strings) })),
  inputSchema: optional(schema),
  outputSchema: optional(schema),
});

// What other frameworks call our fields (TOOL-28).
const OWN_FIELDS = new Map([
  ...['parameters', 'schema', 'args', 'argsSchema', 'input'].map((name) => [name, 'inputSchema'] as const),
  ...['output', 'returns', 'responseSchema'].map((name) => [name, 'outputSchema'] as const),
  ...['run', 'func', 'handler', 'callback', 'invoke', 'call'].map((name) => [name, 'execute'] as const),
  ['annotations', 'readOnly, destructive, idempotent and openWorld'],
  ['timeout', 'timeoutMs'],
]);

/** Throws `invalid_definition` that names the field (TOOL-1). */
export function assertDefinition(definition: unknown): asserts definition is ToolDefinition {
  if (!isRecord(definition)) throw invalidField('a tool', 'definition', 'must be an object');
  const name = typeof definition.name === 'string' ? definition.name : 'a tool';
  const [fault] = readShape(DEFINITION, definition).faults;
  if (fault !== undefined) {
    const { kind, message, path, hint } = fault;
    const field = formatPath(path);
    const own = OWN_FIELDS.get(field);
    if (kind === 'unknown')
      throw invalidField(name, field, 'is not a field of a definition', { hint: own ? `here it is ${own}` : hint });
    throw invalidField(name, field, kind === 'missing' ? 'is missing' : message);
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
  const names = cli?.positional ?? [];
  const properties = isRecord(schema.properties) ? schema.properties : {};
  names.forEach((parameter, index) => {
    if (!Object.hasOwn(properties, parameter) || names.indexOf(parameter) !== index)
      throw invalidField(name, 'cli.positional', `must name parameters, each once; "${parameter}" is not one`);
    const isArray = acceptedTypes(followRef(properties[parameter], schema), schema).has('array');
    if (isArray && index < names.length - 1)
      throw invalidField(name, 'cli.positional', `must have the array "${parameter}" last`);
  });
}

export function invalidField(
  name: string,
  field: string,
  problem: string,
  { hint = `fix the field "${field}" of the definition`, cause }: ToolErrorOptions = {},
): ToolError {
  return new ToolError('invalid_definition', `${name}: ${field} ${problem}`, { hint, data: { field }, cause });
}
