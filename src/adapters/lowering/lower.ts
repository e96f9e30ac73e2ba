// Lowers an input schema to what a provider takes, by a plan that can be undone: no valid value is lost (SDK-2).

import { isRecord, type Json } from '../../core/json.js';
import { acceptedTypes, followRef, type JsonSchema } from '../../core/schema.js';
import type { Profile } from './profile.js';
import { findRenames, renameKeys, renameSchema } from './property-names.js';
import { flattenRoot, viewObject } from './root.js';
import { type Node, sanitize } from './sanitize.js';
import { compileStrict } from './strict.js';

export interface Lowering {
  /** What the provider is sent. */
  readonly schema: JsonSchema & { readonly type: 'object' };
  /** Whether it is in the words of the provider's strict mode. */
  readonly strict: boolean;
  /** Arguments as a model sent them, in the words of the tool; never throws, the tool's own check judges. */
  restore(args: Json): Json;
  /** A valid input in the words of the lowered schema. */
  encode(input: Json): Json;
}

export interface LowerOptions {
  /** Strict mode where the provider has one and the schema can be said in it without loss. */
  readonly strict?: boolean;
}

// The name under which an input that is no object is sent.
const WRAPPED = 'input';

export function lower(json: JsonSchema, profile: Profile, { strict = false }: LowerOptions = {}): Lowering {
  const wrapped = !takesObject(json);
  const { schema: plain, cut } = sanitize(json);
  const whole: Node = wrapped
    ? { type: 'object', properties: { [WRAPPED]: plain }, required: [WRAPPED], additionalProperties: false }
    : plain;
  const renames = findRenames(whole, profile.propertyName);
  const closed = wrapped || isClosed(json);
  const renamed = renameSchema(whole, renames);
  const root = flattenRoot(renamed, closed);
  // Undeclared properties that an alternative lets in have no place in strict mode.
  const sealed = closed && (root.additionalProperties === false || !viewObject(renamed, closed).speaks);
  const codec =
    strict && profile.strict !== undefined && sealed && !cut
      ? compileStrict(root, profile.strict)
      : undefined;
  return {
    schema: (codec === undefined
      ? root
      : {
          ...(root.description === undefined ? {} : { description: root.description }),
          ...codec.schema,
        }) as Lowering['schema'],
    strict: codec !== undefined,
    restore: (args) => {
      const restored = renameKeys(codec?.restore(args) ?? args, renames);
      return wrapped && isRecord(restored) && Object.hasOwn(restored, WRAPPED)
        ? (restored[WRAPPED] as Json)
        : restored;
    },
    encode: (input) => {
      const renamed = renameKeys(wrapped ? { [WRAPPED]: input } : input, renames);
      return codec?.encode(renamed) ?? renamed;
    },
  };
}

function takesObject(json: JsonSchema): boolean {
  const types = acceptedTypes(followRef(json, json), json);
  return types.size === 0 || (types.size === 1 && types.has('object'));
}

// RUN-3: undeclared properties are refused unless the root itself speaks of them.
function isClosed(json: JsonSchema): boolean {
  if (json.additionalProperties === false || json.unevaluatedProperties === false) return true;
  const speaks = 'additionalProperties' in json || 'unevaluatedProperties' in json;
  return !speaks && isRecord(json.properties);
}
