// Descriptions of modules, cached so that listing their tools does not load them again (MOD-8).

import type { ModuleOffer } from '../../core/format.js';
import { isRecord, type JsonObject } from '../../core/json.js';
import { isToolName } from '../../core/name.js';
import type { Finding } from '../../core/problem.js';
import type { JsonSchema } from '../../core/schema.js';
import { cleanSchema } from '../../core/schema.js';
import { sanitize } from '../../core/text.js';
import type { Traits } from '../../core/tool.js';
import type { Collected } from './collect.js';

export interface DescribedTool {
  readonly export: string;
  readonly name: string;
  readonly description: string;
  readonly input: JsonSchema;
  readonly output?: JsonSchema;
  readonly traits: Traits;
}

export interface DescribedOffer extends Pick<ModuleOffer, 'kind' | 'id' | 'fields' | 'input'> {
  readonly export: string;
}

export interface Description {
  /** False if loading failed. Not cached, since it may succeed later. */
  readonly loaded: boolean;
  readonly tools: readonly DescribedTool[];
  readonly offers: readonly DescribedOffer[];
  readonly findings: readonly Finding[];
}

/** Returns the tools and offers of a loaded module as data. */
export function describe({ tools, offers, findings }: Collected): Description {
  return {
    loaded: true,
    tools: tools.map(({ export: name, tool }) => ({
      export: name,
      name: tool.name,
      description: tool.description,
      input: tool.input.json,
      output: tool.output?.json,
      traits: tool.traits,
    })),
    offers: offers.map(({ export: name, kind, id, fields, tool }) => ({
      export: name,
      kind,
      id,
      fields,
      input: tool.input.json,
    })),
    findings,
  };
}

/** Validates a description that was read from disk or came from the tool host. Throws if it is invalid. */
export function readDescription(json: unknown): Description {
  if (!isRecord(json) || ![json.tools, json.offers, json.findings].every(Array.isArray))
    throw new Error('not a description');
  const { tools, offers, ...rest } = json as unknown as Description;
  if (!tools.every(isDescribedTool)) throw new Error('not the description of a tool');
  if (!offers.every(isDescribedOffer)) throw new Error('not the description of a resource or prompt');
  return {
    ...rest,
    tools: tools.map((tool) => ({
      ...tool,
      description: sanitize(tool.description),
      input: cleanSchema(tool.input),
      output: tool.output && cleanSchema(tool.output),
    })),
    offers: offers.map((offer) => ({ ...offer, fields: cleanFields(offer.fields) })),
  };
}

function isDescribedTool(tool: unknown): boolean {
  return (
    isRecord(tool) &&
    typeof tool.export === 'string' &&
    typeof tool.name === 'string' &&
    isToolName(tool.name) &&
    typeof tool.description === 'string' &&
    isRecord(tool.input) &&
    isRecord(tool.traits) &&
    Array.isArray(tool.traits.tags) &&
    Array.isArray(tool.traits.examples)
  );
}

function isDescribedOffer(offer: unknown): boolean {
  return (
    isRecord(offer) &&
    typeof offer.export === 'string' &&
    (offer.kind === 'resource' || offer.kind === 'prompt') &&
    typeof offer.id === 'string' &&
    isRecord(offer.fields) &&
    isRecord(offer.input)
  );
}

// Texts that are shown; URIs and data stay as they are.
function cleanFields(fields: JsonObject): JsonObject {
  const cleaned = Object.entries(fields).map(([key, value]) => [
    key,
    typeof value === 'string' ? sanitize(value) : value,
  ]);
  return Object.fromEntries(cleaned);
}
