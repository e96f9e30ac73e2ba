// Registers and finds tools at run time, and clears caches (RES-9, RES-10).

import type { ToolContext } from '../../core/context.js';
import { isToolError, orNothing, ToolError } from '../../core/error.js';
import { deepFreeze, isRecord, type Json, toJson } from '../../core/json.js';
import { parseRef } from '../../core/name.js';
import type { JsonSchema } from '../../core/schema.js';
import { parseSelectors } from '../../core/selector.js';
import {
  anything,
  callable,
  converted,
  custom,
  described,
  either,
  object,
  oneOf,
  optional,
  type Path,
  readShape,
  type Shape,
  string,
  strings,
  table,
  text,
} from '../../core/shape.js';
import type { Tool } from '../../core/tool.js';
import type { ListOptions, Toolbox } from '../../core/toolbox.js';
import { type ToolDefinition, toTool } from '../../formats/module/define.js';

/** Options of `registerTool`, as an alternative to a typed definition. */
export interface RegisterToolOptions {
  /** The name of the tool. */
  readonly name: string;
  /** The function that runs. */
  readonly fn: (input: never, context: ToolContext) => unknown;
  /** The order of the arguments of `fn`: `context-first` for functions of agent-apps, `fn(context, input)`. */
  readonly order?: 'input-first' | 'context-first';
  /** Defaults to the name. */
  readonly description?: string;
  /** JSON Schema of the input; default: no parameters. */
  readonly params?: JsonSchema;
  /** JSON Schema of the output. */
  readonly returns?: JsonSchema;
  /** Words that rules and listings select it by. */
  readonly tags?: readonly string[];
  /** Hidden tools are not listed, and models cannot call them. */
  readonly visibility?: 'hidden';
  /** Stored with the tool; its `tags` and `visibility` have the same effect as the options. */
  readonly metadata?: Readonly<Record<string, Json>>;
  /** Stored as `metadata.role`. */
  readonly role?: string;
  /** Selectors of the tools that it may call. */
  readonly allowedTools?: string | readonly string[];
  /** URI that also finds the tool: `inline://…`, `mcp://…` or `file://…`. */
  readonly src?: string;
  /** Stored as `metadata.module`: where its code is. */
  readonly module?: string;
  /** Stored as `metadata.content`: a text that belongs to it. */
  readonly content?: string;
}

const SCHEMA = optional(described(table, 'a JSON Schema'));
const TEXT = optional(text());
// `name`, `description` and `tags` are checked with the definition.
const OPTIONS = object({
  name: optional(anything),
  fn: callable,
  order: optional(oneOf('input-first', 'context-first')),
  description: optional(anything),
  params: SCHEMA,
  returns: SCHEMA,
  tags: optional(anything),
  visibility: optional(oneOf('hidden')),
  metadata: optional(table),
  role: TEXT,
  allowedTools: optional(anything),
  src: optional(custom('a URI that begins with file:, mcp: or inline:', (value) => (isUri(value) ? value : undefined))),
  module: TEXT,
  content: TEXT,
} satisfies Record<keyof RegisterToolOptions, Shape<unknown>>);

// An array, or separated by spaces.
const WORDS = either([strings, converted(string, (words) => words.split(/\s+/).filter(Boolean))]);
const METADATA = object({ tags: optional(WORDS), visibility: optional(oneOf('hidden')) }, { unknown: 'drop' });

/**
 * Adds a tool to a toolbox; it shadows other tools of its name at once. Throws `invalid_definition`, or `conflict` if
 * a tool of that name is registered.
 */
export function registerTool(toolbox: Toolbox, options: RegisterToolOptions | ToolDefinition): void {
  toolbox.catalog.register('execute' in options ? toTool(options) : toRegistered(options));
}

/** Removes a registered tool; returns whether there was one. */
export function unregisterTool(toolbox: Toolbox, name: string): boolean {
  return toolbox.catalog.unregister(name);
}

/** Options of `createCallbackRef`. */
export type CallbackRefOptions = Omit<RegisterToolOptions, 'name' | 'fn'>;

/**
 * Registers a function under a unique name, `{label}-{8 characters}`, and returns the name. Accepts any input unless
 * `params` is given; `unregisterTool` removes it.
 */
export function createCallbackRef(
  toolbox: Toolbox,
  label: string,
  fn: RegisterToolOptions['fn'],
  options: CallbackRefOptions = {},
): string {
  const name = `${label}-${crypto.randomUUID().slice(0, 8)}`;
  registerTool(toolbox, { params: ANY_OBJECT, ...options, name, fn });
  return name;
}

const ANY_OBJECT: JsonSchema = { type: 'object', additionalProperties: true };

/** Returns the tool of a reference (RES-1). Throws `not_found`, `ambiguous` or `invalid_ref`. */
export function findTool(ref: string, toolbox: Toolbox): Promise<Tool> {
  return toolbox.find(ref);
}

/** Returns the visible tools in order of precedence (RES-8). */
export function listTools(toolbox: Toolbox, options?: ListOptions): Promise<readonly Tool[]> {
  return toolbox.list(options);
}

/** Returns the visible tools of a group, such as `task`. */
export async function getToolsByGroup(
  toolbox: Toolbox,
  group: string,
  options?: ListOptions,
): Promise<readonly Tool[]> {
  return (await toolbox.list(options)).filter(({ traits }) => traits.group === group);
}

/** Clears what is cached of a tool, including listings and indexes that contain it (RES-14). */
export function clearToolCache(toolbox: Toolbox, name: string): void {
  toolbox.catalog.clearToolCache(name);
}

/** Clears all caches. */
export function clearAllCaches(toolbox: Toolbox): void {
  toolbox.catalog.clearAllCaches();
}

function toRegistered(options: RegisterToolOptions): Tool {
  const { name, fn, order, description, params, returns, src } = isRecord(options) ? options : ({} as never);
  const shown = typeof name === 'string' ? name : 'a tool';
  assertShape(OPTIONS, options, shown);
  const metadata = toMetadata(shown, options);
  const { tags = [], visibility } = assertShape(METADATA, metadata, shown, ['metadata']);
  const tool = toFunctionTool({
    name,
    description: description ?? name,
    tags: [...(options.tags ?? []), ...tags],
    hidden: (options.visibility ?? visibility) === 'hidden',
    inputSchema: params,
    outputSchema: returns,
    execute:
      order === 'context-first'
        ? (input: never, context: ToolContext) => (fn as (...given: unknown[]) => unknown)(context, input)
        : fn,
  });
  return deepFreeze({
    ...tool,
    origin: { ...tool.origin, uri: src ?? null },
    traits: {
      ...tool.traits,
      allowedTools: toAllowedTools(options.allowedTools),
      metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
    },
  });
}

function assertShape<T>(shape: Shape<T>, value: unknown, shown: string, path: Path = []): T {
  const { value: read, faults } = readShape(shape, value, path);
  const [fault] = faults;
  if (fault === undefined) return read!;
  const what = fault.kind === 'unknown' ? 'is not a field of registerTool' : fault.message;
  throw bad(shown, fault.path.length === 0 ? 'options' : fault.path.join('.'), what);
}

// The fields of a definition that have another name here.
const OWN_NAMES: Readonly<Record<string, string>> = { inputSchema: 'params', outputSchema: 'returns' };

function toFunctionTool(definition: ToolDefinition): Tool {
  try {
    return toTool(definition);
  } catch (error) {
    const field = isToolError(error) ? error.data?.field : undefined;
    const own = typeof field === 'string' ? OWN_NAMES[field] : undefined;
    if (own === undefined) throw error;
    const { cause } = error as ToolError;
    throw bad(definition.name, own, (cause as Error).message);
  }
}

function isUri(value: unknown): value is string {
  return orNothing(() => parseRef(value as string).kind === 'uri') ?? false;
}

// Validated here; parsed again when enforced.
function toAllowedTools(allowed: RegisterToolOptions['allowedTools']): readonly string[] | undefined {
  if (allowed === undefined) return undefined;
  if (allowed.length > 0) parseSelectors(allowed);
  return typeof allowed === 'string' ? [allowed] : [...allowed];
}

function toMetadata(shown: string, options: RegisterToolOptions): Record<string, Json> {
  let given: Json;
  try {
    given = toJson(options.metadata ?? {});
  } catch (error) {
    throw bad(shown, 'metadata', `is not JSON: ${(error as Error).message}`);
  }
  const { role, module, content } = options;
  const own = Object.entries({ role, module, content }).filter(([, value]) => value !== undefined);
  return { ...(given as Record<string, Json>), ...(Object.fromEntries(own) as Record<string, Json>) };
}

function bad(name: string, field: string, problem: string): ToolError {
  return new ToolError('invalid_definition', `${name}: ${field} ${problem}`, {
    hint: `fix the field "${field}" of registerTool`,
    data: { field },
  });
}
