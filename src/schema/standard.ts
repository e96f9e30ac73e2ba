// Schemas of libraries that implement Standard Schema and Standard JSON Schema.

import { ToolError } from '../core/error.js';
import { describeValue, isRecord, toPointer } from '../core/json.js';
import type { Fault, JsonSchema, Schema } from '../core/schema.js';
import { createJsonSchema } from './json.js';
import { findMarked, MARKING, type Side } from './unpublished.js';

/** The parts of Standard Schema 1 and Standard JSON Schema that are used here. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly jsonSchema?: {
      readonly input: (options: JsonSchemaOptions) => Record<string, unknown>;
      readonly output: (options: JsonSchemaOptions) => Record<string, unknown>;
    };
  };
}

interface JsonSchemaOptions {
  readonly target: 'draft-2020-12';
  readonly libraryOptions?: Record<string, unknown> | undefined;
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Whether a value is a Standard Schema; some libraries use functions as schemas. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const standard = (value as { '~standard'?: unknown })['~standard'];
  return isRecord(standard) && typeof standard.validate === 'function';
}

export type Parsed =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly faults: readonly Fault[] };

/** Parses a value with the library; its issues become faults. */
export async function parseStandard(schema: StandardSchema, value: unknown): Promise<Parsed> {
  const result = await schema['~standard'].validate(value);
  if (result.issues === undefined) return { ok: true, value: result.value };
  return { ok: false, faults: result.issues.map((issue) => toFault(issue, value)) };
}

/**
 * Creates a Schema from a library's schema. A value must match the published JSON Schema and the library's own
 * refinements. `check` returns the value unchanged; `parseStandard` returns the parsed one.
 */
export function createStandardSchema(schema: StandardSchema, side: Side): Schema {
  const published = createJsonSchema(publish(schema, side), { closed: side === 'input' });
  return {
    json: published.json,
    async check(value) {
      const check = await published.check(value);
      // An output was parsed when the function returned it, and a parsed value may not parse again.
      if (!check.ok || side === 'output') return check;
      const parsed = await parseStandard(schema, value);
      return parsed.ok ? check : { ok: false, faults: parsed.faults };
    },
  };
}

function publish(schema: StandardSchema, side: Side): JsonSchema {
  const { jsonSchema, vendor } = schema['~standard'];
  if (typeof jsonSchema?.[side] !== 'function') {
    throw new ToolError('invalid_definition', `cannot be published as JSON Schema: "${vendor}" does not export it`, {
      hint: 'use a version that implements Standard JSON Schema (zod 4.2 or newer), or write the JSON Schema itself',
    });
  }
  const json = toDocument(jsonSchema[side], vendor);
  const marked = findMarked(json, vendor, side);
  if (marked !== undefined) {
    const { path, what, write } = marked;
    const part = path === '' ? 'it' : path;
    throw new ToolError('invalid_definition', `cannot be published as JSON Schema: ${part} is ${what}`, {
      hint: `${path === '' ? '' : `for ${path}, `}write ${write}`,
      data: { path },
    });
  }
  // Copied, because a library may share objects within the document.
  return JSON.parse(JSON.stringify(json)) as JsonSchema;
}

function toDocument(
  convert: (options: JsonSchemaOptions) => Record<string, unknown>,
  vendor: string,
): Record<string, unknown> {
  try {
    // The dialect is always 2020-12, and some providers reject the keyword.
    const { $schema: _, ...json } = convert({ target: 'draft-2020-12', libraryOptions: MARKING[vendor] });
    return json;
  } catch (error) {
    throw new ToolError(
      'invalid_definition',
      `cannot be published as JSON Schema: ${error instanceof Error ? error.message : error}`,
      {
        hint: 'JSON has no dates, bigints, maps, sets or functions: write the schema of what is sent, such as a string',
        cause: error,
      },
    );
  }
}

function toFault({ message, path = [] }: StandardIssue, value: unknown): Fault {
  const steps = path.map((step) => (typeof step === 'object' ? step.key : step)).map(String);
  let found: unknown = value;
  for (const step of steps) found = isIndexable(found) ? found[step] : undefined;
  return {
    kind: 'value',
    path: toPointer(steps),
    expected: `acceptable (${message})`,
    got: found === undefined ? 'no value' : describeValue(found),
  };
}

function isIndexable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
