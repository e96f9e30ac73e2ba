// The fields of a form: what can be entered for a value, and the texts around it. Types only.

import type { Json } from '../../core/json.js';

/** A field: what can be entered for one value. Parts are schemas, described when they are shown. */
export type Field = FieldTexts & FieldKind;

export type FieldKind =
  | { readonly kind: 'text'; readonly format: string | undefined }
  | { readonly kind: 'number'; readonly integer: boolean }
  | { readonly kind: 'boolean' }
  | { readonly kind: 'null' }
  /** One of some values. */
  | { readonly kind: 'choice'; readonly values: readonly Json[] }
  | {
      readonly kind: 'object';
      readonly properties: readonly Property[];
      /** Schema of further properties; false if there are none, undefined if they are allowed but not described. */
      readonly extra: unknown;
      readonly patterns: readonly (readonly [string, unknown])[];
    }
  /** `prefix` are the schemas of the first items, `items` that of the others; false if there are none. */
  | { readonly kind: 'list'; readonly prefix: readonly unknown[]; readonly items: unknown; readonly min: number }
  | { readonly kind: 'union'; readonly branches: readonly Branch[] }
  /** No value is allowed. */
  | { readonly kind: 'never' };

export interface FieldTexts {
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly default: Json | undefined;
  /** Constraints in words. */
  readonly notes: readonly string[];
}

export interface Property {
  readonly name: string;
  readonly schema: unknown;
  readonly required: boolean;
}

export interface Branch {
  readonly label: string;
  readonly schema: unknown;
}

export type FieldOf<K extends Field['kind']> = Extract<Field, { kind: K }>;
