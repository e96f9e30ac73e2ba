// Collects the tools that a loaded module exports: its definitions, or its function with frontmatter.

import { isToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import type { Finding } from '../../core/problem.js';
import type { Tool } from '../../core/tool.js';
import { isStandardSchema } from '../../schema/standard.js';
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
  readonly findings: readonly Finding[];
}

/** Returns the tools among a module's exports (MOD-7, MOD-14). */
export function collectTools(exports: Readonly<Record<string, unknown>>, file: string): Collected {
  const tools: CollectedTool[] = [];
  const findings: Finding[] = [];
  const seen = new Set<unknown>();
  const add = (name: string, make: () => Tool): void => {
    try {
      const tool = make();
      if (tools.some((other) => other.tool.name === tool.name)) {
        findings.push({ message: `has two tools named "${tool.name}"`, hint: 'rename one of them' });
      } else tools.push({ export: name, tool });
    } catch (error) {
      if (!isToolError(error)) throw error;
      findings.push({ message: `export "${name}": ${error.message}`, hint: error.hint ?? 'fix the definition' });
    }
  };
  if (isRecord(exports.frontmatter)) {
    const found = findFunction(exports, file);
    if (found === undefined) {
      findings.push({
        message: 'exports frontmatter but no function',
        hint: 'export the function as default or as execute',
      });
    } else {
      const { frontmatter } = exports;
      add(found.name, () => toTool(fromFrontmatter(frontmatter, found.run, file), readRole(frontmatter)));
    }
  }
  for (const [name, value] of Object.entries(exports)) {
    if (name === 'frontmatter' || seen.has(value)) continue;
    const offer = toOfferKind(value);
    if (offer !== undefined) {
      const hint = `offer it from a program: createToolbox({ ${offer}s: [${name}] })`;
      findings.push({ message: `export "${name}" is a ${offer}, which a module file cannot offer`, hint });
    }
    if (!looksLikeDefinition(value)) continue;
    seen.add(value);
    add(name, () => toTool(value as unknown as ToolDefinition));
  }
  if (tools.length === 0 && findings.length === 0) {
    findings.push({
      message: 'exports no tool',
      hint: 'export const mine = defineTool({ name, description, inputSchema, execute })',
    });
  }
  return { tools, findings };
}

// A definition of `defineResource` or `definePrompt`, which would otherwise be ignored without a word (MOD-33).
function toOfferKind(value: unknown): 'resource' | 'prompt' | undefined {
  if (!isRecord(value) || typeof value.name !== 'string') return undefined;
  if (typeof value.uri === 'string' && typeof value.read === 'function') return 'resource';
  return typeof value.description === 'string' && typeof value.get === 'function' ? 'prompt' : undefined;
}

// Values that look like an attempt at a definition are reported if they are invalid; other exports are ignored.
function looksLikeDefinition(value: unknown): boolean {
  if (!isRecord(value) || isStandardSchema(value)) return false;
  return typeof value.execute === 'function' || ('name' in value && 'inputSchema' in value);
}
