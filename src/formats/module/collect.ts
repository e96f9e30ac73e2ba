// Collects the tools that a loaded module exports: its definitions, or its function with frontmatter.

import { basename } from 'node:path';
import { isToolError } from '../../core/error.js';
import { isRecord, type Json } from '../../core/json.js';
import type { Finding } from '../../core/problem.js';
import { type JsonSchema, NO_PARAMETERS } from '../../core/schema.js';
import type { Tool } from '../../core/tool.js';
import { isStandardSchema } from '../../schema/standard.js';
import { toTool } from './define.js';
import type { DefinitionSchema, ToolDefinition } from './definition.js';

/** A tool of a module and the name of its export. */
export interface CollectedTool {
  readonly export: string;
  readonly tool: Tool;
}

export interface Collected {
  readonly tools: readonly CollectedTool[];
  readonly findings: readonly Finding[];
}

/** Returns the name of a module file without its extension: `note` for `note.tool.ts` and `note.ts`. */
export function baseName(file: string): string {
  return basename(file).replace(/(?:\.tool)?\.[cm]?[jt]s$/, '');
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
    if (name === 'frontmatter' || seen.has(value) || !looksLikeDefinition(value)) continue;
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

// Values that look like an attempt at a definition are reported if they are invalid; other exports are ignored.
function looksLikeDefinition(value: unknown): boolean {
  if (!isRecord(value) || isStandardSchema(value)) return false;
  return typeof value.execute === 'function' || ('name' in value && 'inputSchema' in value);
}

type Run = (input: unknown, context: unknown) => unknown;

// Returns the default export, `execute`, the function named like the file, or the only function.
function findFunction(
  exports: Readonly<Record<string, unknown>>,
  file: string,
): { readonly name: string; readonly run: Run } | undefined {
  const functions = Object.entries(exports).filter(([, value]) => typeof value === 'function');
  const named = ['default', 'execute', baseName(file), camelCase(baseName(file))];
  const chosen =
    named.map((name) => functions.find(([own]) => own === name)).find((entry) => entry !== undefined) ??
    (functions.length === 1 ? functions[0] : undefined);
  return chosen && { name: chosen[0], run: chosen[1] as Run };
}

function camelCase(name: string): string {
  return name.replace(/[-_]+(.)/g, (_match, letter: string) => letter.toUpperCase());
}

function fromFrontmatter(frontmatter: Readonly<Record<string, unknown>>, run: Run, file: string): ToolDefinition {
  const metadata = isRecord(frontmatter.metadata) ? frontmatter.metadata : {};
  const { name = baseName(file), description } = frontmatter;
  const { tags, visibility, params, group } = metadata;
  // Field types are checked by toTool.
  return {
    name: name as string,
    description: description as string,
    inputSchema: toInputSchema(params),
    tags: tags as string[] | undefined,
    group: group as string | undefined,
    hidden: visibility === 'hidden',
    execute: run,
  };
}

function readRole({ metadata }: Readonly<Record<string, unknown>>): { readonly role?: string } {
  return isRecord(metadata) && typeof metadata.role === 'string' ? { role: metadata.role } : {};
}

// Accepts a schema, or only its properties, each with an optional `required: true`.
function toInputSchema(params: unknown): DefinitionSchema {
  if (params === undefined || params === null) return NO_PARAMETERS;
  if (isStandardSchema(params) || !isRecord(params)) return params as DefinitionSchema;
  if (typeof params.type === 'string' || isRecord(params.properties) || '$ref' in params) return params as JsonSchema;
  const required: string[] = [];
  const properties: Record<string, Json> = {};
  for (const [name, property] of Object.entries(params)) {
    const { required: isRequired, ...schema } = isRecord(property) ? property : {};
    if (isRequired === true) required.push(name);
    properties[name] = schema as Json;
  }
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required }) };
}
