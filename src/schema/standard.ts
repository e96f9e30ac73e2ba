// Schemas of libraries: Standard Schema with its JSON Schema export, by declaration only, so that no library is needed.

import { ToolError } from '../core/error.js';
import { describeValue, escapePointer, isRecord } from '../core/json.js';
import type { Fault, JsonSchema, Schema } from '../core/schema.js';
import { createJsonSchema } from './json.js';

/** What a library's schema is to us (Standard Schema 1 and Standard JSON Schema). */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>;
      readonly output: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>;
    };
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What a value of a library's schema is before it is parsed. */
export type InputOf<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly input: infer I }
    ? I
    : unknown
  : unknown;

/** What it is afterwards: defaults filled in, transformed. */
export type OutputOf<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly output: infer O }
    ? O
    : unknown
  : unknown;

/** Some libraries make schemas that are functions. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const standard = (value as { '~standard'?: unknown })['~standard'];
  return isRecord(standard) && typeof standard.validate === 'function';
}

export type Parsed =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly faults: readonly Fault[] };

/** What the library makes of a value, its issues as faults of ours. */
export async function parseStandard(schema: StandardSchema, value: unknown): Promise<Parsed> {
  const result = await schema['~standard'].validate(value);
  if (result.issues === undefined) return { ok: true, value: result.value };
  return { ok: false, faults: result.issues.map((issue) => toFault(issue, value)) };
}

/**
 * A Schema from a library's: the published face is its JSON Schema, and a value has to fit both that and the
 * library's own refinements. The value stays as it was given; `parseStandard` gives what the library makes of it.
 */
export function createStandardSchema(schema: StandardSchema, face: 'input' | 'output'): Schema {
  const published = createJsonSchema(publish(schema, face), { closed: face === 'input' });
  return {
    json: published.json,
    async check(value) {
      const check = await published.check(value);
      // An output was parsed when the function gave it, and what parsing made need not parse again.
      if (!check.ok || face === 'output') return check;
      const parsed = await parseStandard(schema, value);
      return parsed.ok ? check : { ok: false, faults: parsed.faults };
    },
  };
}

function publish(schema: StandardSchema, face: 'input' | 'output'): JsonSchema {
  const { jsonSchema, vendor } = schema['~standard'];
  if (typeof jsonSchema?.[face] !== 'function') {
    throw new ToolError(
      'invalid_definition',
      `the schema of "${vendor}" cannot be published as JSON Schema`,
      {
        hint: 'use a version that implements Standard JSON Schema (zod 4.2 or newer), or write the JSON Schema itself',
      },
    );
  }
  // The dialect is always this one, and a provider may refuse the keyword.
  const { $schema: _, ...json } = jsonSchema[face]({ target: 'draft-2020-12' });
  // Through text, since a library may share parts of its own within the document.
  return JSON.parse(JSON.stringify(json)) as JsonSchema;
}

function toFault({ message, path = [] }: StandardIssue, value: unknown): Fault {
  const steps = path.map((step) => (typeof step === 'object' ? step.key : step)).map(String);
  let found: unknown = value;
  for (const step of steps) found = isIndexable(found) ? found[step] : undefined;
  return {
    path: steps.map((step) => `/${escapePointer(step)}`).join(''),
    // The library's own words, which are about this value.
    expected: `acceptable (${message})`,
    got: found === undefined ? 'no value' : describeValue(found),
  };
}

function isIndexable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
