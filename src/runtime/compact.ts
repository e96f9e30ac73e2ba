// JSON in the text of a result as a table (TOON), which takes fewer tokens: only if nothing is lost by it.

import type { Caller } from '../core/caller.js';
import { orNothing } from '../core/error.js';
import { isRecord } from '../core/json.js';
import type { Output } from '../core/result.js';
import type { Settings } from '../core/settings.js';
import type { Call } from './scope.js';

/** Longer texts are not read here: it takes milliseconds, during which nobody else is served. */
export const MOST_CHARACTERS = 100_000;
const MOST_LEVELS = 50;
// Less is not worth another notation.
const MOST_OF_TEXT = 0.85;

/** Whether results of a call are shown to a model as tables (CTX-52). */
export function isCompact({ caller, nesting, snapshot, tool }: Call): boolean {
  if (caller.kind !== 'model' || nesting.depth > 0) return false;
  const { results, tools } = snapshot.settings;
  return (tools.get(tool!.name)?.encode ?? results.encode) === 'auto' && !parsesText(caller, results);
}

// A program rather than a model reads what these clients get.
function parsesText({ name: given = '' }: Caller, { plainClients }: Settings['results']): boolean {
  // mcp-remote adds its own name to that of the client.
  const name = given.replace(/ \(via mcp-remote [^()]*\)$/, '');
  return plainClients.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one));
}

/** Returns the output with tables in place of JSON, where they are shorter. */
export async function compactOutput(output: Output): Promise<Output> {
  if (output.error !== undefined) return output;
  const content = await Promise.all(
    output.content.map(async (part) => {
      const text = part.type === 'text' ? await toTable(part.text) : undefined;
      return text === undefined ? part : { ...part, text };
    }),
  );
  return content.every((part, at) => part === output.content[at]) ? output : { ...output, content };
}

/** Returns JSON text with its uniform arrays as tables; undefined if that loses something, or saves less than 15 %. */
export async function toTable(text: string): Promise<string | undefined> {
  if (text.length > MOST_CHARACTERS || !/^\s*[[{]/.test(text)) return undefined;
  const value = orNothing(() => JSON.parse(text) as unknown);
  if (!hasTable(value)) return undefined;
  const exact = JSON.stringify(value);
  // Some numbers change when they are read, and of two equal names the first is lost.
  if (exact !== normalize(text)) return undefined;
  const { decode, encode } = await import('@toon-format/toon');
  return orNothing(() => {
    const table = encode(value);
    if (table.length > text.length * MOST_OF_TEXT) return undefined;
    return JSON.stringify(decode(table)) === exact ? table : undefined;
  });
}

// Without white space, in the spelling of JSON.stringify where that is another one of the same value.
function normalize(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|\s+/g, (token) => {
    if (token.startsWith('"')) return JSON.stringify(JSON.parse(token));
    return token.trim().replace(/\.0+$/, '');
  });
}

// Whether a value has an array of objects with the same names and simple values.
function hasTable(value: unknown, levels = MOST_LEVELS): boolean {
  if (levels === 0 || typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value) && isUniform(value)) return true;
  return Object.values(value).some((inner) => hasTable(inner, levels - 1));
}

function isUniform(rows: readonly unknown[]): boolean {
  const [first] = rows;
  if (rows.length < 2 || !isRecord(first)) return false;
  const names = Object.keys(first);
  const isRow = (row: unknown): boolean =>
    isRecord(row) &&
    Object.keys(row).length === names.length &&
    names.every((name) => Object.hasOwn(row, name) && (typeof row[name] !== 'object' || row[name] === null));
  return names.length > 0 && rows.every(isRow);
}
