// Describes the shape of a JSON value in one line: `[{ id, email }] × 20113`.

import { isRecord, type Json } from '../core/json.js';
import { quoteOutside } from '../core/text.js';

const MAX_KEYS = 24;
const MAX_DEPTH = 4;
// Number of elements that are inspected for the shape of an array.
const SAMPLE = 100;
const MAX_TEXT = 400;

/** Returns one line of at most 400 characters. */
export function inferShape(value: Json): string {
  const text = shapeOf([value], 0);
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text;
}

// The combined shape of values at the same position.
function shapeOf(values: readonly Json[], depth: number): string {
  const kinds = new Set<string>();
  const records: Record<string, Json>[] = [];
  const arrays: (readonly Json[])[] = [];
  for (const value of values) {
    if (Array.isArray(value)) arrays.push(value);
    else if (isRecord(value)) records.push(value as Record<string, Json>);
    else kinds.add(value === null ? 'null' : typeof value);
  }
  const shapes = [
    ...(records.length > 0 ? [shapeOfRecords(records, depth)] : []),
    ...(arrays.length > 0 ? [shapeOfArrays(arrays, depth)] : []),
    ...[...kinds].sort(),
  ];
  return shapes.join(' | ');
}

function shapeOfRecords(records: readonly Record<string, Json>[], depth: number): string {
  const keys = new Map<string, Json[]>();
  for (const record of records) {
    for (const key of Object.keys(record)) {
      const known = keys.get(key);
      if (known !== undefined) known.push(record[key]!);
      else if (keys.size <= MAX_KEYS) keys.set(key, [record[key]!]);
    }
  }
  if (keys.size === 0) return '{}';
  if (depth >= MAX_DEPTH) return '{…}';
  const names = [...keys].slice(0, MAX_KEYS).map(([key, values]) => {
    const name = /^[\w$-]{1,60}$/.test(key) ? key : JSON.stringify(quoteOutside(key, 60));
    // Only objects and arrays are described; the name of a scalar is enough.
    const nested = values.filter((value) => typeof value === 'object' && value !== null);
    return nested.length === 0 ? name : `${name}: ${shapeOf(nested, depth + 1)}`;
  });
  return `{ ${names.join(', ')}${keys.size > MAX_KEYS ? ', …' : ''} }`;
}

function shapeOfArrays(arrays: readonly (readonly Json[])[], depth: number): string {
  const lengths = arrays.map((array) => array.length);
  const least = lengths.reduce((a, b) => Math.min(a, b));
  const most = lengths.reduce((a, b) => Math.max(a, b));
  const sample: Json[] = [];
  for (const array of arrays) {
    for (let at = 0; at < array.length && sample.length < SAMPLE; at++) sample.push(array[at]!);
  }
  const inner = sample.length === 0 ? '' : depth >= MAX_DEPTH ? '…' : shapeOf(sample, depth + 1);
  return `[${inner}] × ${least === most ? most : `${least}–${most}`}`;
}
