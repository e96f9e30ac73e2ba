// Lowers an input schema to what a provider accepts, reversibly and without losing a valid value (SDK-2).

import { isRecord, type Json } from '../../core/json.js';
import { acceptedTypes, followRef, type JsonSchema } from '../../core/schema.js';
import type { Profile } from './profile.js';
import { findRenames, renameKeys, renameSchema } from './property-names.js';
import { flattenRoot, viewObject } from './root.js';
import { type Node, sanitize } from './sanitize.js';
import { compileStrict } from './strict.js';

export interface Lowering {
  /** The schema to send to the provider. */
  readonly schema: JsonSchema & { readonly type: 'object' };
  /** Whether it fits the provider's strict mode. */
  readonly strict: boolean;
  /** Converts a model's arguments back for the tool's own schema. Never throws; they are validated later. */
  restore(args: Json): Json;
}

// The property that contains an input that is not an object.
const WRAPPED = 'input';

/** With `strict`, uses strict mode if the provider has one and it can express the schema without loss. */
export function lower(json: JsonSchema, profile: Profile, { strict = false } = {}): Lowering {
  const wrapped = !takesObject(json);
  const { schema: plain, incomplete } = sanitize(json);
  const whole: Node = wrapped
    ? { type: 'object', properties: { [WRAPPED]: plain }, required: [WRAPPED], additionalProperties: false }
    : plain;
  const renames = findRenames(whole, profile.propertyName);
  const described = wrapped ? { properties: { [WRAPPED]: json } } : json;
  const closed = wrapped || isClosed(json);
  const renamed = renameSchema(whole, renames);
  const root = flattenRoot(renamed, closed);
  // Strict mode cannot express undeclared properties, which an alternative may allow.
  const sealed = closed && (root.additionalProperties === false || !viewObject(renamed, closed).explicit);
  const codec =
    strict && profile.strict !== undefined && sealed && !incomplete ? compileStrict(root, profile.strict) : undefined;
  return {
    schema: (codec === undefined
      ? root
      : {
          ...(root.description === undefined ? {} : { description: root.description }),
          ...codec.schema,
        }) as Lowering['schema'],
    strict: codec !== undefined,
    restore: (args) => {
      const given = codec?.restore(args) ?? args;
      const restored = renameKeys(given, [described], { renames, root: json, back: true });
      return wrapped && isRecord(restored) && Object.hasOwn(restored, WRAPPED) ? (restored[WRAPPED] as Json) : restored;
    },
  };
}

function takesObject(json: JsonSchema): boolean {
  const types = acceptedTypes(followRef(json, json), json);
  return types.size === 0 || (types.size === 1 && types.has('object'));
}

// RUN-3: undeclared properties are rejected unless the root itself mentions them.
function isClosed(json: JsonSchema): boolean {
  if (json.additionalProperties === false || json.unevaluatedProperties === false) return true;
  const mentioned = 'additionalProperties' in json || 'unevaluatedProperties' in json;
  return !mentioned && isRecord(json.properties);
}
