// Tools given by code while a toolbox lives: registering, callback references, finding, forgetting (RES-9, RES-10).

import type { ToolContext } from '../core/context.js';
import { isToolError, ToolError } from '../core/error.js';
import { deepFreeze, isRecord, type Json, toJson } from '../core/json.js';
import { parseRef } from '../core/ref.js';
import type { JsonSchema } from '../core/schema.js';
import { parseSelectors } from '../core/selector.js';
import type { Tool } from '../core/tool.js';
import type { ListOptions, Toolbox } from '../core/toolbox.js';
import { type ToolDefinition, toTool } from '../formats/module/define.js';
import { createToolbox } from '../toolbox.js';

/** A tool as `registerTool` takes it, beside a typed definition. */
export interface RegisterToolOptions {
  readonly name: string;
  readonly fn: (input: never, context: ToolContext) => unknown;
  /** The name, where it is left out. */
  readonly description?: string;
  /** JSON Schema of the input; left out: no parameters. */
  readonly params?: JsonSchema;
  /** JSON Schema of the output. */
  readonly returns?: JsonSchema;
  readonly tags?: readonly string[];
  /** Hidden: not listed, and not there for a model. */
  readonly visibility?: 'hidden';
  /** Kept with the tool; `tags` and `visibility` in it count as those beside it. */
  readonly metadata?: Readonly<Record<string, Json>>;
  /** Kept as `metadata.role`. */
  readonly role?: string;
  /** Selectors of the tools that it may call. */
  readonly allowedTools?: string | readonly string[];
  /** Its URI, by which it is found as well: `inline://…`, `mcp://…` or `file://…`. */
  readonly src?: string;
  /** Kept as `metadata.module`: where its code lives. */
  readonly module?: string;
  /** Kept as `metadata.content`: a text that belongs to it. */
  readonly content?: string;
}

const FIELDS: ReadonlySet<string> = new Set<keyof RegisterToolOptions>([
  'name',
  'fn',
  'description',
  'params',
  'returns',
  'tags',
  'visibility',
  'metadata',
  'role',
  'allowedTools',
  'src',
  'module',
  'content',
]);
const TEXTS = ['role', 'src', 'module', 'content'] as const;

/**
 * Adds a tool to a toolbox; it shadows every other of its name at once. Throws `invalid_definition`, and `conflict`
 * where code gave a tool of that name before.
 */
export function registerTool(toolbox: Toolbox, options: RegisterToolOptions | ToolDefinition): void {
  toolbox.catalog.register('execute' in options ? toTool(options) : toRegistered(options));
}

/** Takes such a tool away; whether there was one. */
export function unregisterTool(toolbox: Toolbox, name: string): boolean {
  return toolbox.catalog.unregister(name);
}

/** What a callback reference may say of itself. */
export type CallbackRefOptions = Omit<RegisterToolOptions, 'name' | 'fn'>;

/**
 * Registers a function under a name of its own, `{label}-{8 characters}`, and gives the name. It takes any input
 * where no `params` say otherwise; `unregisterTool` removes it.
 */
export function createCallbackRef(
  toolbox: Toolbox,
  label: string,
  fn: RegisterToolOptions['fn'],
  options: CallbackRefOptions = {},
): string {
  const name = `${label}-${crypto.randomUUID().slice(0, 8)}`;
  registerTool(toolbox, { params: ANYTHING, ...options, name, fn });
  return name;
}

const ANYTHING: JsonSchema = { type: 'object', additionalProperties: true };

/** The tool of a reference (RES-1). Throws `not_found`, `ambiguous` or `invalid_ref`. */
export function findTool(ref: string, toolbox: Toolbox): Promise<Tool> {
  return toolbox.find(ref);
}

/** The visible tools, in their order (RES-8). */
export function listTools(toolbox: Toolbox, options?: ListOptions): Promise<readonly Tool[]> {
  return toolbox.list(options);
}

/** Forgets what was read of a tool, lists and indexes that hold it included (RES-14). */
export function clearToolCache(toolbox: Toolbox, name: string): void {
  toolbox.catalog.clearToolCache(name);
}

/** Forgets everything that was read. */
export function clearAllCaches(toolbox: Toolbox): void {
  toolbox.catalog.clearAllCaches();
}

/** A toolbox without tools, caches and configuration, for tests (HLP-6). */
export function emptyGlobals(): Toolbox {
  return createToolbox({ tools: [] });
}

function toRegistered(options: RegisterToolOptions): Tool {
  if (!isRecord(options)) throw bad('a tool', 'options', 'must be an object');
  const { name, fn, description, params, returns, src } = options;
  const shown = typeof name === 'string' ? name : 'a tool';
  assertFields(shown, options);
  const metadata = toMetadata(shown, options);
  const visibility = options.visibility ?? metadata.visibility;
  if (visibility !== undefined && visibility !== 'hidden')
    throw bad(shown, 'visibility', 'can only be "hidden"');
  const tool = toToolOf({
    name,
    description: description ?? name,
    tags: [...(options.tags ?? []), ...toTexts(shown, 'metadata.tags', metadata.tags)],
    hidden: visibility === 'hidden',
    ...(params === undefined ? {} : { inputSchema: params }),
    ...(returns === undefined ? {} : { outputSchema: returns }),
    execute: fn,
  });
  const allowedTools = toAllowedTools(options.allowedTools);
  return deepFreeze({
    ...tool,
    origin: { ...tool.origin, uri: src ?? null },
    traits: {
      ...tool.traits,
      ...(allowedTools === undefined ? {} : { allowedTools }),
      ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    },
  });
}

// A definition's fields have other names here.
const OWN_NAMES: Readonly<Record<string, string>> = {
  inputSchema: 'params',
  outputSchema: 'returns',
  execute: 'fn',
};

function toToolOf(definition: ToolDefinition): Tool {
  try {
    return toTool(definition);
  } catch (error) {
    const field = isToolError(error) ? error.data?.field : undefined;
    const own = typeof field === 'string' ? OWN_NAMES[field] : undefined;
    if (own === undefined) throw error;
    throw bad(definition.name, own, (error as Error).message.replace(/^.*?: \w+ /, ''));
  }
}

function assertFields(shown: string, options: RegisterToolOptions): void {
  for (const field of Object.keys(options))
    if (!FIELDS.has(field)) throw bad(shown, field, 'is not a field of registerTool');
  if (typeof options.fn !== 'function') throw bad(shown, 'fn', 'must be a function');
  for (const field of TEXTS) {
    const value: unknown = options[field];
    if (value !== undefined && (typeof value !== 'string' || value === ''))
      throw bad(shown, field, 'must be text');
  }
  if (options.src !== undefined && !isUri(options.src))
    throw bad(shown, 'src', 'must be a URI that begins with file:, mcp: or inline:');
}

function isUri(text: string): boolean {
  try {
    return parseRef(text).kind === 'uri';
  } catch {
    return false;
  }
}

// Kept as written once it reads as selectors: whoever enforces them reads them again.
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
    throw bad(shown, 'metadata', `is no JSON: ${(error as Error).message}`);
  }
  if (!isRecord(given)) throw bad(shown, 'metadata', 'must be an object');
  const { role, module, content } = options;
  const said = Object.entries({ role, module, content }).filter(([, value]) => value !== undefined);
  return { ...given, ...(Object.fromEntries(said) as Record<string, Json>) };
}

function toTexts(shown: string, field: string, value: unknown): string[] {
  if (value === undefined) return [];
  const texts = typeof value === 'string' ? value.split(/\s+/).filter(Boolean) : value;
  if (Array.isArray(texts) && texts.every((text) => typeof text === 'string')) return texts;
  throw bad(shown, field, 'must be text or an array of text');
}

function bad(name: string, field: string, problem: string): ToolError {
  return new ToolError('invalid_definition', `${name}: ${field} ${problem}`, {
    hint: `mend the field "${field}" of registerTool`,
    data: { field },
  });
}
