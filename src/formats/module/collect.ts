// What a loaded module offers: its definitions, or its function with frontmatter.

import { basename } from 'node:path';
import { isToolError } from '../../core/error.js';
import { isRecord, type Json } from '../../core/json.js';
import { type JsonSchema, NO_PARAMETERS } from '../../core/schema.js';
import type { Tool } from '../../core/tool.js';
import { isStandardSchema } from '../../schema/standard.js';
import { type DefinitionSchema, type ToolDefinition, toTool } from './define.js';

/** One tool of a module, and the export that it is. */
export interface CollectedTool {
  readonly export: string;
  readonly tool: Tool;
}

export interface Collected {
  readonly tools: readonly CollectedTool[];
  readonly complaints: readonly { readonly message: string; readonly hint: string }[];
}

/** The name of a module's file without what makes it one: `note.tool.ts` is `note`. */
export function baseName(file: string): string {
  return basename(file).replace(/\.tool\.[cm]?[jt]s$/, '');
}

/** The tools among a module's exports (MOD-7, MOD-14). */
export function collectTools(exports: Readonly<Record<string, unknown>>, file: string): Collected {
  const tools: CollectedTool[] = [];
  const complaints: Collected['complaints'][number][] = [];
  const seen = new Set<unknown>();
  const add = (name: string, make: () => Tool): void => {
    try {
      const tool = make();
      if (tools.some((other) => other.tool.name === tool.name)) {
        complaints.push({ message: `has two tools of the name "${tool.name}"`, hint: 'rename one of them' });
      } else tools.push({ export: name, tool });
    } catch (error) {
      if (!isToolError(error)) throw error;
      complaints.push({ message: `export "${name}": ${error.message}`, hint: error.hint ?? 'mend it' });
    }
  };
  if (isRecord(exports.frontmatter)) {
    const found = findFunction(exports, file);
    if (found === undefined) {
      complaints.push({
        message: 'exports frontmatter and no function',
        hint: 'export the function as default, or as execute',
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
  if (tools.length === 0 && complaints.length === 0) {
    complaints.push({
      message: 'exports no tool',
      hint: 'export const mine = defineTool({ name, description, inputSchema, execute })',
    });
  }
  return { tools, complaints };
}

// What was meant as a definition and is none is worth a word; other exports are the module's own business.
function looksLikeDefinition(value: unknown): boolean {
  if (!isRecord(value) || isStandardSchema(value)) return false;
  return typeof value.execute === 'function' || ('name' in value && 'inputSchema' in value);
}

type Run = (input: unknown, context: unknown) => unknown;

// The function of a module with frontmatter: the default export, `execute`, one named like the file, or the only one.
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

function fromFrontmatter(
  frontmatter: Readonly<Record<string, unknown>>,
  run: Run,
  file: string,
): ToolDefinition {
  const metadata = isRecord(frontmatter.metadata) ? frontmatter.metadata : {};
  const { name = baseName(file), description } = frontmatter;
  const { tags, visibility, params, group } = metadata;
  // What is wrong with a field is for the check of definitions to say, which every tool goes through.
  return {
    name: name as string,
    description: description as string,
    inputSchema: toInputSchema(params),
    ...(tags === undefined ? {} : { tags: tags as string[] }),
    ...(group === undefined ? {} : { group: group as string }),
    hidden: visibility === 'hidden',
    execute: run,
  };
}

function readRole({ metadata }: Readonly<Record<string, unknown>>): { readonly role?: string } {
  return isRecord(metadata) && typeof metadata.role === 'string' ? { role: metadata.role } : {};
}

// A schema as it is, or its properties alone, each with `required: true` where it is.
function toInputSchema(params: unknown): DefinitionSchema {
  if (params === undefined || params === null) return NO_PARAMETERS;
  if (isStandardSchema(params) || !isRecord(params)) return params as DefinitionSchema;
  if (typeof params.type === 'string' || isRecord(params.properties) || '$ref' in params)
    return params as JsonSchema;
  const required: string[] = [];
  const properties: Record<string, Json> = {};
  for (const [name, property] of Object.entries(params)) {
    const { required: isRequired, ...schema } = isRecord(property) ? property : {};
    if (isRequired === true) required.push(name);
    properties[name] = schema as Json;
  }
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required }) };
}
