// Collects a resource or prompt that a module exports (MOD-33).

import { ToolError } from '../../core/error.js';
import type { ModuleOffer } from '../../core/format.js';
import { isRecord, type JsonObject } from '../../core/json.js';
import type { Finding } from '../../core/problem.js';
import { OWN_PROMPT_NAMES, OWN_SCHEMES } from '../../core/resource.js';
import type { OfferRequest, Tool } from '../../core/tool.js';
import { type PromptDefinition, type ResourceDefinition, toOfferSource } from './offers.js';

export type OfferDefinition = ResourceDefinition | PromptDefinition;

/** A resource or prompt of a module and the name of its export. */
export interface CollectedOffer extends Pick<ModuleOffer, 'kind' | 'id'> {
  readonly export: string;
  readonly fields: JsonObject;
  readonly tool: Tool;
  find(request: OfferRequest): Tool | undefined;
}

/** Whether a value is a definition, or looks like an attempt at one. */
export function isOfferDefinition(value: unknown): value is OfferDefinition {
  if (!isRecord(value) || 'execute' in value || 'inputSchema' in value) return false;
  return ('uri' in value && typeof value.read === 'function') || ('name' in value && typeof value.get === 'function');
}

/** Throws `invalid_definition`. `watch`: what to say about a function that is not called in a tool host. */
export function collectOffer(name: string, definition: OfferDefinition): CollectedOffer & { readonly watch?: Finding } {
  const isResource = 'uri' in definition;
  const source = isResource ? toOfferSource([definition]) : toOfferSource([], [definition]);
  const id = isResource ? definition.uri : definition.name;
  if (isResource ? OWN_SCHEMES.test(id) : OWN_PROMPT_NAMES.some((own) => own === id)) {
    throw new ToolError('invalid_definition', `"${id}" is reserved`, { hint: 'rename it' });
  }
  const { fields, tool } = source.resources()[0] ?? source.prompts()[0]!;
  const hint = `remove it, or offer the resource from a program: createToolbox({ resources: [${name}] })`;
  return {
    export: name,
    kind: isResource ? 'resource' : 'prompt',
    id,
    fields,
    tool,
    find: ({ as, ref }) =>
      as === 'resource'
        ? source.findResource(ref)
        : as === 'prompt'
          ? source.findPrompt(ref)
          : source.findCompletion(ref),
    ...(isResource && definition.watch !== undefined
      ? { watch: { message: `export "${name}": watch is never called in a module file`, hint } }
      : {}),
  };
}
