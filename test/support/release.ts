// What users of a release rely on, as data: to record a release, and to see what a later version no longer has.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isRecord } from '../../src/core/json.js';
import { ROOT } from './sources.js';

/** The type of a JSON value: its names, `a|b` for several, or the types of its members. */
export type JsonShape = string | { readonly [key: string]: JsonShape };

/** The recorded release; `npm run record-release` writes it. */
export interface Release {
  readonly version: string;
  /** Exported names by entry. */
  readonly exports: Readonly<Record<string, readonly string[]>>;
  /** Exit statuses by error code. */
  readonly codes: Readonly<Record<string, number>>;
  /** Flags by command. */
  readonly help: Readonly<Record<string, readonly string[]>>;
  /** Shapes of JSON documents by command. */
  readonly json: Readonly<Record<string, JsonShape>>;
  /** Required and known keys of the files of users, by schema. */
  readonly files: Readonly<Record<string, readonly string[]>>;
}

export const RELEASE_FILE = join(ROOT, 'test/gates/release.json');
export const IS_RECORDING = process.env.WIELD_RECORD_RELEASE === '1';

export function readRelease(): Release {
  return JSON.parse(readFileSync(RELEASE_FILE, 'utf8'));
}

/** Returns the shape of a value. Members of a list are one: `items[]`. */
export function shapeOf(value: unknown): JsonShape {
  if (Array.isArray(value)) {
    const members = value.map(shapeOf).reduce<JsonShape | undefined>(merge, undefined);
    return members === undefined ? 'list' : { '[]': members };
  }
  if (isRecord(value)) return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shapeOf(one)]));
  return value === null ? 'null' : typeof value;
}

function merge(one: JsonShape | undefined, other: JsonShape): JsonShape {
  if (one === undefined) return other;
  if (typeof one === 'object' && typeof other === 'object') {
    const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
    // A member that only some have is not promised.
    const common = [...keys].filter((key) => key in one && key in other);
    return Object.fromEntries(common.map((key) => [key, merge(one[key], other[key]!)]));
  }
  const types = [one, other].flatMap((shape) => (typeof shape === 'string' ? shape.split('|') : 'object'));
  return [...new Set(types)].sort().join('|');
}

/** Returns what a document no longer has, or has with another type. */
export function lostOf(before: JsonShape, now: JsonShape | undefined, path: string): string[] {
  if (now === undefined) return [`${path} is missing`];
  if (typeof before === 'string') {
    const kept = typeof now === 'string' ? now.split('|') : ['object', 'list'];
    const isSame = before.split('|').some((type) => kept.includes(type)) || before === 'null';
    return isSame ? [] : [`${path} was ${before} and is ${JSON.stringify(now)}`];
  }
  if (typeof now === 'string')
    return now === 'list' && '[]' in before ? [] : [`${path} was ${JSON.stringify(before)} and is ${now}`];
  return Object.entries(before).flatMap(([key, shape]) =>
    lostOf(shape, now[key], key === '[]' ? `${path}[]` : `${path}.${key}`),
  );
}

/** Returns the names of lists that a later version no longer has. */
export function missingOf(
  before: Readonly<Record<string, readonly string[]>>,
  now: Readonly<Record<string, readonly string[]>>,
): string[] {
  return Object.entries(before).flatMap(([key, names]) =>
    names.filter((name) => !now[key]?.includes(name)).map((name) => `${key}: ${name}`),
  );
}
