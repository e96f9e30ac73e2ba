// Collects what a loaded module exports: definitions of tools, resources and prompts, or a function with frontmatter.

import { isToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import type { Finding } from '../../core/problem.js';
import type { Tool } from '../../core/tool.js';
import { isStandardSchema } from '../../schema/standard.js';
import { type CollectedOffer, collectOffer, isOfferDefinition, type OfferDefinition } from './collect-offer.js';
import { toTool } from './define.js';
import type { ToolDefinition } from './definition.js';
import { findFunction, fromFrontmatter, readRole } from './function-export.js';

/** A tool of a module and the name of its export. */
export interface CollectedTool {
  readonly export: string;
  readonly tool: Tool;
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
  for (const [name, value] of Object.entries(exports)) {
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
