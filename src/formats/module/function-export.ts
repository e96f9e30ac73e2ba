// Reads a module that exports a function, described by its frontmatter.

import { basename } from 'node:path';
import { isRecord, type Json } from '../../core/json.js';
import { type JsonSchema, NO_PARAMETERS } from '../../core/schema.js';
import { isStandardSchema } from '../../schema/standard.js';
import type { DefinitionSchema, ToolDefinition } from './definition.js';

/** Returns the name of a module file without its extension: `note` for `note.tool.ts` and `note.ts`. */
export function baseName(file: string): string {
  return basename(file).replace(/(?:\.tool)?\.[cm]?[jt]s$/, '');
}

type Run = (input: unknown, context: unknown) => unknown;

// Returns the default export, `execute`, the function named like the file, or the only function.
export function findFunction(
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

export function fromFrontmatter(
  frontmatter: Readonly<Record<string, unknown>>,
  run: Run,
  file: string,
): ToolDefinition {
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

export function readRole({ metadata }: Readonly<Record<string, unknown>>): { readonly role?: string } {
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
