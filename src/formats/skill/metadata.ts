// Parses the `metadata` of a SKILL.md: tags, visibility, parameters, delegate, inheritance, timeout, restrictions.

import { isToolError } from '../../core/error.js';
import { isRecord, type Json } from '../../core/json.js';
import { isNarrowing, middlewareEntry } from '../../core/middleware-settings.js';
import { normalizeTags } from '../../core/name.js';
import type { Finding } from '../../core/problem.js';
import { cleanSchema, type JsonSchema } from '../../core/schema.js';
import { readPaths } from '../../core/search-path.js';
import { parseSelectors } from '../../core/selector.js';
import { duration, formatFault, readShape } from '../../core/shape.js';
import type { Skill, SkillRules } from '../../core/skill.js';
import { quoteOutside } from '../../core/text.js';

/** `trust`, `middleware` and `paths` restrict the tools that a skill governs (RES-44). */
export interface SkillMetadata extends Pick<Skill, 'trust' | 'middleware' | 'paths'> {
  readonly tags: readonly string[];
  readonly hidden: boolean;
  /** JSON Schema of the input; absent if it takes none. */
  readonly params?: JsonSchema;
  /** What runs instead of returning the text: a referenced tool, or code. */
  readonly delegate: SkillDelegate | null;
  readonly inherit: readonly string[] | false | null;
  readonly timeoutMs?: number;
}

export type SkillDelegate = { readonly ref: string } | { readonly code: string };

export interface MetadataReading {
  readonly metadata: SkillMetadata;
  readonly warnings: readonly Finding[];
  /** Why the skill cannot be called; it can still be read. */
  readonly error?: Finding;
}

type Result<T> = { readonly value: T } | { readonly error: Finding };

/** Type names of parameters. */
export const TYPES: ReadonlySet<string> = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object']);

/** Parses the `metadata` of a SKILL.md (SKL-3). */
export function readSkillMetadata(fields: Readonly<Record<string, Json>>): MetadataReading {
  const warnings: Finding[] = [];
  warnings.push(...findUnused(fields));
  const params = readParams(fields.params);
  const delegate = readDelegate(fields.delegate);
  return {
    metadata: {
      tags: readTags(fields.tags, warnings),
      hidden: readHidden(fields.visibility, warnings),
      params: 'value' in params ? params.value && cleanSchema(params.value) : undefined,
      delegate: 'value' in delegate ? delegate.value : null,
      inherit: readInherit(fields.$inherit, warnings),
      timeoutMs: readTimeout(fields.timeout, warnings),
      trust: readTrust(fields.trust, warnings),
      middleware: readMiddleware(fields.middleware, warnings),
      paths: readSearchPath(fields.paths, warnings),
    },
    warnings,
    error: 'error' in params ? params.error : 'error' in delegate ? delegate.error : undefined,
  };
}

/** Keys of agent-apps that change what the main skill hands down; here a skill only narrows. */
export const PROMOTIONS = ['$local', '$global'];

function findUnused(fields: Readonly<Record<string, Json>>): Finding[] {
  return PROMOTIONS.filter((key) => Object.hasOwn(fields, key)).map((key) => ({
    message: `metadata.${key} has no effect`,
    hint: 'put shared settings into a skill and name it in metadata.$inherit, or set them in the configuration',
  }));
}

function readTags(value: Json | undefined, warnings: Finding[]): string[] {
  if (value === undefined || value === null) return [];
  if (typeof value === 'string') return normalizeTags(value.split(/[\s,]+/));
  if (Array.isArray(value) && value.every(isTag)) return normalizeTags(value.map(String));
  warnings.push({ message: 'metadata.tags must be a string or a list', hint: 'write tags: [one, two]' });
  return [];
}

function isTag(value: Json): boolean {
  return typeof value === 'string' || typeof value === 'number';
}

function readHidden(value: Json | undefined, warnings: Finding[]): boolean {
  if (value === undefined || value === null || value === 'hidden') return value === 'hidden';
  warnings.push({
    message: `unknown metadata.visibility ${quoteOutside(JSON.stringify(value), 40)}`,
    hint: 'write visibility: hidden, or remove it',
  });
  return false;
}

// A JSON Schema if it has `properties`, otherwise a map from names to schemas or type names.
function readParams(value: Json | undefined): Result<JsonSchema | undefined> {
  if (value === undefined || value === null) return { value: undefined };
  if (!isRecord(value)) return invalidParams('must be a map of parameters');
  const { type } = value;
  if (isRecord(value.properties) || type === 'object') {
    if (type !== undefined && type !== 'object') return invalidParams('must be the schema of an object');
    return { value: { ...(value as JsonSchema), type: 'object' } };
  }
  const properties: Record<string, Json> = {};
  const required: string[] = [];
  for (const [name, entry] of Object.entries(value)) {
    if (typeof entry === 'string' && TYPES.has(entry)) properties[name] = { type: entry };
    else if (isRecord(entry)) {
      const { required: isRequired, ...schema } = entry as Record<string, Json>;
      if (isRequired !== undefined && typeof isRequired !== 'boolean')
        return invalidParams(`"${quoteOutside(name, 40)}": required must be true or false`);
      properties[name] = schema;
      if (isRequired === true) required.push(name);
    } else return invalidParams(`"${quoteOutside(name, 40)}" must be a type or a schema`);
  }
  return { value: { type: 'object', properties, ...(required.length > 0 ? { required } : {}) } };
}

function invalidParams(what: string): { readonly error: Finding } {
  return {
    error: {
      message: `metadata.params ${what}, so it cannot be called`,
      hint: 'write params: { city: { type: string, required: true } }, or a JSON Schema with properties',
    },
  };
}

function readDelegate(value: Json | undefined): Result<SkillDelegate | null> {
  if (value === undefined || value === null) return { value: null };
  if (typeof value === 'string' && value.trim() !== '') return { value: { ref: value.trim() } };
  if (isRecord(value) && typeof value.code === 'string' && value.code.trim() !== '')
    return { value: { code: value.code } };
  return {
    error: {
      message: 'metadata.delegate does not name a tool, so it cannot be called',
      hint: 'write delegate: name-of-a-tool',
    },
  };
}

function readInherit(value: Json | undefined, warnings: Finding[]): readonly string[] | false | null {
  if (value === undefined || value === null) return null;
  if (value === false) return false;
  const names = Array.isArray(value) ? value : [value];
  if (names.every((name): name is string => typeof name === 'string' && name.trim() !== ''))
    return names.map((name) => name.trim());
  warnings.push({
    message: 'metadata.$inherit does not name a skill, so nothing is inherited',
    hint: 'write $inherit: name, a list of names, or false',
  });
  return false;
}

function readTimeout(value: Json | undefined, warnings: Finding[]): number | undefined {
  if (value === undefined || value === null) return undefined;
  const { value: timeoutMs } = readShape(duration, value);
  if (timeoutMs === undefined) {
    const isInterpolated = typeof value === 'string' && value.includes('{{');
    warnings.push({
      message: `metadata.timeout ${quoteOutside(JSON.stringify(value), 40)} is not a duration`,
      hint: isInterpolated
        ? 'arguments are inserted into the text of a skill only; write timeout: 30s, 5m or 1h'
        : 'write timeout: 30s, 5m or 1h',
    });
  }
  return timeoutMs;
}

const TRUST_HINT = 'write trust: { rules: "#destructive($policy=ask)" }; until then nothing that it governs runs';

/** Rules that were declared but cannot be read, so that nothing they apply to runs (POL-9). */
export function unreadableRules(fault: string): SkillRules {
  return { rules: [], line: null, fault };
}

/** Returns the line of `rules` below `trust`, counted from 1; null if it is not found. */
export function findRulesLine(text: string): number | null {
  const lines = text.split('\n');
  const trust = lines.findIndex((line) => /\btrust["']?\s*:/.test(line));
  if (trust === -1) return null;
  const rules = lines.findIndex((line, at) => at >= trust && /\brules["']?\s*:/.test(line));
  return (rules === -1 ? trust : rules) + 1;
}

// An unknown key may be a misspelled one, so it makes the rules unreadable, as in the configuration.
function readTrust(value: Json | undefined, warnings: Finding[]): SkillRules | undefined {
  if (value === undefined || value === null) return undefined;
  const fault = findTrustFault(value);
  if (fault === undefined) return { rules: toTexts((value as { rules: Json }).rules)!, line: null };
  warnings.push({ message: `metadata.trust ${fault}`, hint: TRUST_HINT });
  return unreadableRules(fault);
}

function findTrustFault(value: Json): string | undefined {
  if (!isRecord(value)) return 'must be a map with rules';
  const unknown = Object.keys(value).find((key) => key !== 'rules');
  if (unknown !== undefined) return `has an unknown key "${quoteOutside(unknown, 40)}"`;
  const texts = toTexts(value.rules as Json);
  if (texts === undefined) return 'has rules that are not selectors, as text or a list';
  try {
    parseSelectors(texts);
    return undefined;
  } catch (error) {
    if (!isToolError(error)) throw error;
    return `has invalid rules: ${error.message}`;
  }
}

function toTexts(value: Json | undefined): readonly string[] | undefined {
  const texts = Array.isArray(value) ? value : [value];
  return texts.every((text): text is string => typeof text === 'string') ? texts : undefined;
}

function readMiddleware(value: Json | undefined, warnings: Finding[]): SkillMetadata['middleware'] {
  if (value === undefined || value === null) return undefined;
  const limits = (Array.isArray(value) ? value : [value]).flatMap((entry) => {
    const { value: parsed, faults } = readShape(middlewareEntry, entry);
    const isValid = parsed !== undefined && faults.length === 0;
    if (isValid && isNarrowing(parsed)) return [parsed];
    const what = isValid ? 'it is not a rate limit' : formatFault(faults[0]!);
    warnings.push({
      message: `metadata.middleware has an invalid entry, so it has no effect: ${what}`,
      hint: 'write { use: rate-limit, calls: 10, every: 1m }; other middleware belongs in the configuration or in code',
    });
    return [];
  });
  return limits.length === 0 ? undefined : limits;
}

function readSearchPath(value: Json | undefined, warnings: Finding[]): SkillMetadata['paths'] {
  if (value === undefined || value === null) return undefined;
  const paths = readPaths(typeof value === 'string' ? [value] : value);
  if (paths !== undefined) return paths;
  warnings.push({
    message: 'metadata.paths must be a list of directories, { external: … } and { ignore: … }, so nothing is found',
    hint: 'write paths: [./tools, ...]',
  });
  return [{ ignore: '*' }];
}
