// Collects what a loaded module exports: definitions of tools, resources and prompts, or a function with frontmatter.

import { isToolError, ToolError } from '../../core/error.js';
import type { ModuleOffer } from '../../core/format.js';
import { isRecord, type JsonObject } from '../../core/json.js';
import type { Finding } from '../../core/problem.js';
import { OWN_PROMPT_NAMES, OWN_SCHEMES } from '../../core/resource.js';
import type { OfferRequest, Tool } from '../../core/tool.js';
import { isStandardSchema } from '../../schema/standard.js';
import { toTool } from './define.js';
import type { ToolDefinition } from './definition.js';
import { findFunction, fromFrontmatter, readRole } from './function-export.js';
import { type PromptDefinition, type ResourceDefinition, toOfferSource } from './offers.js';

/** A tool of a module and the name of its export. */
export interface CollectedTool {
  readonly export: string;
  readonly tool: Tool;
}

type OfferDefinition = ResourceDefinition | PromptDefinition;

/** A resource or prompt of a module and the name of its export. */
export interface CollectedOffer extends Pick<ModuleOffer, 'kind' | 'id'> {
  readonly export: string;
  readonly fields: JsonObject;
  readonly tool: Tool;
  find(request: OfferRequest): Tool | undefined;
}

export interface Collected {
  readonly tools: readonly CollectedTool[];
  readonly offers: readonly CollectedOffer[];
  readonly findings: readonly Finding[];
}

/** Returns the tools, resources and prompts among a module's exports (MOD-7, MOD-14, MOD-33). */
export function collectExports(exports: Readonly<Record<string, unknown>>, file: string): Collected {
  const tools: CollectedTool[] = [];
  const offers: CollectedOffer[] = [];
  const findings: Finding[] = [];
  const seen = new Set<unknown>();
  const attempt = (name: string, add: () => void): void => {
    try {
      add();
    } catch (error) {
      if (!isToolError(error)) throw error;
      findings.push({ message: `export "${name}": ${error.message}`, hint: error.hint ?? 'fix the definition' });
    }
  };
  const addTool = (name: string, make: () => Tool): void =>
    attempt(name, () => {
      const tool = make();
      if (tools.some((other) => other.tool.name === tool.name)) {
        findings.push({ message: `has two tools named "${tool.name}"`, hint: 'rename one of them' });
      } else tools.push({ export: name, tool });
    });
  const addOffer = (name: string, value: OfferDefinition): void =>
    attempt(name, () => {
      const { watch, ...offer } = collectOffer(name, value);
      if (watch !== undefined) findings.push(watch);
      if (offers.some((other) => other.tool.name === offer.tool.name)) {
        findings.push({ message: `has two ${offer.kind}s "${offer.id}"`, hint: 'rename one of them' });
      } else offers.push(offer);
    });
  if (isRecord(exports.frontmatter)) {
    const found = findFunction(exports, file);
    if (found === undefined) {
      findings.push({
        message: 'exports frontmatter but no function',
        hint: 'export the function as default or as execute',
      });
    } else {
      const { frontmatter } = exports;
      addTool(found.name, () => toTool(fromFrontmatter(frontmatter, found.run, file), readRole(frontmatter)));
    }
  }
  const entries = Object.entries(exports).flatMap(([name, value]) =>
    // MOD-42: an array of definitions is as good as an export for each.
    Array.isArray(value)
      ? value.map((one, at): [string, unknown] => [`${name}[${at}]`, one])
      : [[name, value] as const],
  );
  for (const [name, value] of entries) {
    if (name === 'frontmatter' || seen.has(value)) continue;
    seen.add(value);
    if (isOfferDefinition(value)) addOffer(name, value);
    else if (looksLikeDefinition(value)) addTool(name, () => toTool(value as unknown as ToolDefinition));
  }
  if (tools.length === 0 && offers.length === 0 && findings.length === 0) {
    findings.push({
      message: 'exports no tool',
      hint: 'export const mine = defineTool({ name, description, inputSchema, execute })',
    });
  }
  return { tools, offers, findings };
}

// Values that look like an attempt at a definition are reported if they are invalid; other exports are ignored.
function looksLikeDefinition(value: unknown): boolean {
  if (!isRecord(value) || isStandardSchema(value)) return false;
  return typeof value.execute === 'function' || ('name' in value && 'inputSchema' in value);
}

// Whether a value is a definition of a resource or prompt, or looks like an attempt at one.
function isOfferDefinition(value: unknown): value is OfferDefinition {
  if (!isRecord(value) || 'execute' in value || 'inputSchema' in value) return false;
  return ('uri' in value && typeof value.read === 'function') || ('name' in value && typeof value.get === 'function');
}

// Throws `invalid_definition`. `watch`: what to say about a function that is not called in a tool host.
function collectOffer(name: string, definition: OfferDefinition): CollectedOffer & { readonly watch?: Finding } {
  const isResource = 'uri' in definition;
  const source = isResource ? toOfferSource([definition]) : toOfferSource([], [definition]);
  const id = isResource ? definition.uri : definition.name;
  if (isResource ? OWN_SCHEMES.test(id) : OWN_PROMPT_NAMES.some((own) => own === id)) {
    throw new ToolError('invalid_definition', `"${id}" is reserved`, { hint: 'rename it' });
  }
  const { fields, tool } = source.all[0]!;
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
