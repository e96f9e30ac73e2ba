// Fetches the resources, resource templates and prompts of a server as definitions like those of tools.

import { isRecord, type Json } from '../../core/json.js';
import type { OfferKind, RemoteTool } from '../remote-tool.js';

/** What a server lists besides tools, by its capabilities. */
export const OFFERS: readonly {
  readonly kind: OfferKind;
  readonly capability: 'resources' | 'prompts';
  readonly method: string;
  readonly member: string;
  /** The field that identifies an entry. */
  readonly id: string;
}[] = [
  { kind: 'resource', capability: 'resources', method: 'resources/list', member: 'resources', id: 'uri' },
  {
    kind: 'template',
    capability: 'resources',
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    id: 'uriTemplate',
  },
  { kind: 'prompt', capability: 'prompts', method: 'prompts/list', member: 'prompts', id: 'name' },
];

const NO_INPUT: Json = { type: 'object', properties: {} };
const URI_INPUT: Json = { type: 'object', properties: { uri: { type: 'string' } }, required: ['uri'] };

/** Converts an entry of a list to the form of a tool, so that it is parsed, pinned and stored like one. */
export function toOffer(kind: OfferKind, id: string, entry: Record<string, Json>): RemoteTool {
  const { title, description, name, [id]: _, ...fields } = entry;
  const text = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined);
  return {
    name: entry[id] as string,
    offers: kind,
    title: text(title),
    description: text(description) ?? text(title) ?? text(name),
    inputSchema: kind === 'prompt' ? toInput(entry.arguments) : kind === 'template' ? URI_INPUT : NO_INPUT,
    fields: { ...fields, ...(kind === 'prompt' ? {} : { name: text(name) ?? (entry[id] as string) }) },
  };
}

/** Converts the instructions of a server, so that they are cleaned, pinned and named by rules like a tool. */
export function toInstructions(text: string): RemoteTool {
  return { name: 'instructions', offers: 'instructions', description: text, inputSchema: NO_INPUT };
}

function toInput(given: Json | undefined): Json {
  const named = (Array.isArray(given) ? given : []).filter(
    (argument) => isRecord(argument) && typeof argument.name === 'string',
  ) as { readonly name: string; readonly description?: Json; readonly required?: Json }[];
  const properties = Object.fromEntries(named.map(({ name }) => [name, { type: 'string' }]));
  const required = named.filter((argument) => argument.required === true).map(({ name }) => name);
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required }) };
}
