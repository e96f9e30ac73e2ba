// Resources and prompts defined in code: defineResource and definePrompt check definitions, toOfferSource offers them.

import type { ToolContext } from '../../core/context.js';
import { ToolError } from '../../core/error.js';
import type { OfferSource } from '../../core/format.js';
import { deepFreeze, isRecord, type Json, type JsonObject } from '../../core/json.js';
import {
  findByTemplate,
  isTemplate,
  type Prompt,
  type Resource,
  toPromptName,
  toResourceName,
  toSpellings,
} from '../../core/resource.js';
import type { Part } from '../../core/result.js';
import type { Tool } from '../../core/tool.js';
import { toTool } from './define.js';

/** What `read` may return: text, bytes, or contents in the form of the protocol. */
export type ResourceContent = string | Uint8Array | readonly JsonObject[];

/** A resource as written by its author. */
export interface ResourceDefinition {
  /** A URI, or a URI template with variables such as `notes://{id}`. */
  readonly uri: string;
  /** The name that clients list it by. */
  readonly name: string;
  /** A name for people. */
  readonly title?: string;
  /** What it contains. */
  readonly description?: string;
  /** The media type of its contents. */
  readonly mimeType?: string;
  /** Audience, priority and time of change, in the form of the protocol. */
  readonly annotations?: JsonObject;
  /** Icons, in the form of the protocol. */
  readonly icons?: readonly JsonObject[];
  /** Other data for clients. */
  readonly _meta?: JsonObject;
  /** Receives the URI that is read. */
  read(uri: string, context: ToolContext): ResourceContent | Promise<ResourceContent>;
  /** Calls the listener when the resource changes; the returned function stops it. */
  watch?(uri: string, onChange: () => void): () => void;
  /** Returns completions of a variable of the template. */
  complete?(variable: string, value: string): readonly string[] | Promise<readonly string[]>;
}

/** A message of a prompt. */
export interface PromptMessage {
  /** Who says it. */
  readonly role: 'user' | 'assistant';
  /** What is said. */
  readonly content: Part;
}

/** A prompt as written by its author. */
export interface PromptDefinition {
  /** The name that clients use. */
  readonly name: string;
  /** A name for people. */
  readonly title?: string;
  /** What it is for. */
  readonly description: string;
  /** The arguments that a person fills in, all of them text. */
  readonly arguments?: readonly {
    readonly name: string;
    readonly title?: string;
    readonly description?: string;
    readonly required?: boolean;
  }[];
  /** Icons, in the form of the protocol. */
  readonly icons?: readonly JsonObject[];
  /** Other data for clients. */
  readonly _meta?: JsonObject;
  /** Returns one message of the user as text, or several messages. */
  get(
    input: Readonly<Record<string, string>>,
    context: ToolContext,
  ): string | readonly PromptMessage[] | Promise<string | readonly PromptMessage[]>;
  /** Returns completions of an argument. */
  complete?(argument: string, value: string): readonly string[] | Promise<readonly string[]>;
}

/** Checks a definition and freezes it. Throws `invalid_definition`. */
export function defineResource(definition: ResourceDefinition): ResourceDefinition {
  const { uri, name, read } = definition;
  if (typeof uri !== 'string' || !/^[A-Za-z][\w+.-]*:/.test(uri)) throw invalid('a resource', 'uri', 'must be a URI');
  if (typeof name !== 'string' || name === '') throw invalid(uri, 'name', 'is missing');
  if (typeof read !== 'function') throw invalid(uri, 'read', 'must be a function');
  return deepFreeze({ ...definition });
}

/** Checks a definition and freezes it. Throws `invalid_definition`. */
export function definePrompt(definition: PromptDefinition): PromptDefinition {
  const { name, description, get } = definition;
  if (typeof name !== 'string' || !/^[\w.-]{1,128}$/.test(name))
    throw invalid('a prompt', 'name', 'must be at most 128 letters, digits, _, - and .');
  if (typeof description !== 'string' || description === '') throw invalid(name, 'description', 'is missing');
  if (typeof get !== 'function') throw invalid(name, 'get', 'must be a function');
  return deepFreeze({ ...definition });
}

function invalid(of: string, field: string, problem: string): ToolError {
  return new ToolError('invalid_definition', `${of}: "${field}" ${problem}`, { hint: 'correct the definition' });
}

/** Offers resources and prompts defined in code. Throws `conflict` if two have the same URI or name. */
export function toOfferSource(
  resources: readonly ResourceDefinition[] = [],
  prompts: readonly PromptDefinition[] = [],
) {
  const defined = resources.map(defineResource);
  const listed = defined.map(toResource);
  const made = prompts.map(definePrompt).map(toPrompt);
  assertUnique(listed.map(({ uri }) => uri));
  assertUnique(made.map(({ name }) => name));
  const find = (uri: string): ResourceDefinition | undefined =>
    defined.find((one) => !isTemplate(one.uri) && one.uri === uri) ??
    findByTemplate(uri, defined, (one) => (isTemplate(one.uri) ? one.uri : undefined));
  return {
    all: [...listed, ...made],
    resources: async () => listed,
    prompts: () => made,
    findResource(uri: string): Tool | undefined {
      const found = find(uri);
      return found && (listed.find((one) => one.uri === uri)?.tool ?? toReader(found, uri));
    },
    follow: (uri: string, _snapshot: unknown, onUpdate: () => void) => find(uri)?.watch?.(uri, onUpdate),
    findPrompt: (name: string) => made.find((one) => one.name === name)?.tool,
    findCompletion(ref: string): Tool | undefined {
      const found = defined.find(({ uri }) => uri === ref) ?? prompts.find(({ name }) => name === ref);
      if (found === undefined) return undefined;
      const name = 'uri' in found ? toResourceName(found.uri) : toPromptName(found.name);
      return toOfferTool(name, 'Complete an argument.', OPEN, async (input) => {
        const { name: argument = '', value = '' } = isRecord(input) && isRecord(input.argument) ? input.argument : {};
        const values = (await found.complete?.(String(argument), String(value))) ?? [];
        return { values: values.slice(0, 100), total: values.length, hasMore: values.length > 100 };
      });
    },
  } satisfies OfferSource & { readonly all: readonly unknown[] };
}

const OPEN: JsonObject = { type: 'object', additionalProperties: true };
const NONE: JsonObject = { type: 'object', properties: {} };

function assertUnique(ids: readonly string[]): void {
  const twice = ids.find((id, at) => ids.indexOf(id) !== at);
  if (twice !== undefined)
    throw new ToolError('conflict', `"${twice}" is defined twice`, { hint: 'rename one of them' });
}

function toResource(definition: ResourceDefinition): Resource {
  const { uri, read: _, complete: __, watch: ___, ...fields } = definition;
  return {
    uri,
    isTemplate: isTemplate(uri),
    fields: fields as unknown as JsonObject,
    tool: toReader(definition, uri),
  };
}

function toReader({ read, description, name, mimeType }: ResourceDefinition, uri: string): Tool {
  const tool = toOfferTool(toResourceName(uri), description ?? name, NONE, async (_input, context) => {
    const content = await read(uri, context);
    if (Array.isArray(content)) return { content: content.map((resource) => ({ type: 'resource', resource })) };
    const body =
      typeof content === 'string' ? { text: content } : { blob: Buffer.from(content as Uint8Array).toString('base64') };
    return {
      content: [{ type: 'resource', resource: { uri, ...(mimeType === undefined ? {} : { mimeType }), ...body } }],
    };
  });
  return { ...tool, origin: { ...tool.origin, spellings: toSpellings(uri) } };
}

function toPrompt(definition: PromptDefinition): Prompt {
  const { name, description, get, complete: _, ...fields } = definition;
  const given = definition.arguments ?? [];
  const input: JsonObject = {
    type: 'object',
    properties: Object.fromEntries(given.map((one) => [one.name, { type: 'string' }])),
    required: given.filter(({ required }) => required === true).map((one) => one.name),
  };
  const tool = toOfferTool(toPromptName(name), description, input, async (values, context) => {
    const made = await get(values as Record<string, string>, context);
    const messages = typeof made === 'string' ? [{ role: 'user', content: { type: 'text', text: made } }] : made;
    return { description, messages };
  });
  const { name: __, ...listed } = { ...fields, description } as Record<string, unknown>;
  return { name, fields: listed as unknown as JsonObject, tool };
}

function toOfferTool(
  name: string,
  description: string,
  inputSchema: JsonObject,
  execute: (input: Json, context: ToolContext) => Promise<unknown>,
): Tool {
  // Its name is not that of a tool.
  const tool = toTool({ name: 'offer', description, inputSchema, readOnly: true, execute: execute as never });
  return { ...tool, name };
}
