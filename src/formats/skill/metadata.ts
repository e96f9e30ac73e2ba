// Reads what a skill's metadata says about calling it: tags, visibility, parameters, delegate, inheritance, time limit.

import { isRecord, type Json } from '../../core/json.js';
import { normalizeTags } from '../../core/name.js';
import type { JsonSchema } from '../../core/schema.js';
import { parseDuration, quoteOutside } from '../../core/text.js';
import type { Complaint } from '../script/header.js';

export interface SkillMetadata {
  readonly tags: readonly string[];
  readonly hidden: boolean;
  /** The JSON Schema of its input; absent where it takes none. */
  readonly params?: JsonSchema;
  /** What runs in its place: a reference, or code. */
  readonly delegate: SkillDelegate | null;
  readonly inherit: readonly string[] | false | null;
  readonly timeoutMs?: number;
}

export type SkillDelegate = { readonly ref: string } | { readonly code: string };

export interface MetadataReading {
  readonly metadata: SkillMetadata;
  readonly warnings: readonly Complaint[];
  /** Why the skill cannot be called, where that is so; its text is a skill all the same. */
  readonly fault?: Complaint;
}

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object']);

/** Reads the `metadata` of a SKILL.md (SKL-3). */
export function readSkillMetadata(fields: Readonly<Record<string, Json>>): MetadataReading {
  const warnings: Complaint[] = [];
  const params = readParams(fields.params);
  const delegate = readDelegate(fields.delegate);
  const fault = 'fault' in params ? params.fault : 'fault' in delegate ? delegate.fault : undefined;
  const timeoutMs = readTimeout(fields.timeout, warnings);
  return {
    metadata: {
      tags: readTags(fields.tags, warnings),
      hidden: readHidden(fields.visibility, warnings),
      ...('schema' in params && params.schema ? { params: params.schema } : {}),
      delegate: 'delegate' in delegate ? delegate.delegate : null,
      inherit: readInherit(fields.$inherit, warnings),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    },
    warnings,
    ...(fault === undefined ? {} : { fault }),
  };
}

function readTags(value: Json | undefined, warnings: Complaint[]): string[] {
  if (value === undefined || value === null) return [];
  if (typeof value === 'string') return normalizeTags(value.split(/[\s,]+/));
  if (Array.isArray(value) && value.every(isWord)) return normalizeTags(value.map(String));
  warnings.push({
    message: 'has metadata.tags that are neither text nor a list of words',
    hint: 'write tags: [one, two]',
  });
  return [];
}

function isWord(value: Json): boolean {
  return typeof value === 'string' || typeof value === 'number';
}

function readHidden(value: Json | undefined, warnings: Complaint[]): boolean {
  if (value === undefined || value === null || value === 'hidden') return value === 'hidden';
  warnings.push({
    message: `has metadata.visibility ${quoteOutside(JSON.stringify(value), 40)}, which means nothing`,
    hint: 'write visibility: hidden, or leave it out',
  });
  return false;
}

type ParamsReading = { readonly schema: JsonSchema | undefined } | { readonly fault: Complaint };

// A JSON Schema where there is `properties`; otherwise a map from names to schemas or types.
function readParams(value: Json | undefined): ParamsReading {
  if (value === undefined || value === null) return { schema: undefined };
  if (!isRecord(value)) return badParams('is no map of parameters');
  const { type } = value;
  if (isRecord(value.properties) || type === 'object') {
    if (type !== undefined && type !== 'object')
      return badParams('is a schema of something else than an object');
    return { schema: { ...(value as JsonSchema), type: 'object' } };
  }
  const properties: Record<string, Json> = {};
  const required: string[] = [];
  for (const [name, entry] of Object.entries(value)) {
    if (typeof entry === 'string' && TYPES.has(entry)) properties[name] = { type: entry };
    else if (isRecord(entry)) {
      const { required: isRequired, ...schema } = entry as Record<string, Json>;
      if (isRequired !== undefined && typeof isRequired !== 'boolean')
        return badParams(`has "${quoteOutside(name, 40)}" with a "required" that is neither true nor false`);
      properties[name] = schema;
      if (isRequired === true) required.push(name);
    } else return badParams(`has "${quoteOutside(name, 40)}", which is neither a type nor a schema`);
  }
  return { schema: { type: 'object', properties, ...(required.length > 0 ? { required } : {}) } };
}

function badParams(what: string): { readonly fault: Complaint } {
  return {
    fault: {
      message: `metadata.params ${what}, so it cannot be called`,
      hint: 'write params: { city: { type: string, required: true } }, or a JSON Schema with properties',
    },
  };
}

function readDelegate(
  value: Json | undefined,
): { readonly delegate: SkillDelegate | null } | { readonly fault: Complaint } {
  if (value === undefined || value === null) return { delegate: null };
  if (typeof value === 'string' && value.trim() !== '') return { delegate: { ref: value.trim() } };
  if (isRecord(value) && typeof value.code === 'string' && value.code.trim() !== '') {
    return { delegate: { code: value.code } };
  }
  return {
    fault: {
      message: 'metadata.delegate names no tool, so it cannot be called',
      hint: 'write delegate: name-of-a-tool',
    },
  };
}

function readInherit(value: Json | undefined, warnings: Complaint[]): readonly string[] | false | null {
  if (value === undefined || value === null) return null;
  if (value === false) return false;
  const names = Array.isArray(value) ? value : [value];
  if (names.every((name): name is string => typeof name === 'string' && name.trim() !== ''))
    return names.map((name) => name.trim());
  warnings.push({
    message: 'has metadata.$inherit that names no skill, so it inherits nothing',
    hint: 'write $inherit: name, a list of names, or false',
  });
  return false;
}

function readTimeout(value: Json | undefined, warnings: Complaint[]): number | undefined {
  if (value === undefined || value === null) return undefined;
  const timeoutMs = parseDuration(String(value));
  if (timeoutMs === undefined) {
    warnings.push({
      message: `has metadata.timeout ${quoteOutside(JSON.stringify(value), 40)}, which is no duration`,
      hint: 'write timeout: 30s, 5m or 1h',
    });
  }
  return timeoutMs;
}
