// Parses TOML and finds the line of a key. The parser is loaded on first use.

import { quoteOutside } from '../core/text.js';
import { loadToml } from './libraries.js';

/** Keys and indexes of arrays of tables. */
export type TomlPath = readonly (string | number)[];

/** Parses a document, with `bigIntegers` also integers that a number cannot hold, as bigint; returns the message and line of a syntax error. */
export function parseToml(
  text: string,
  { bigIntegers = false } = {},
): { readonly document: unknown } | { readonly message: string; readonly line: number } {
  const toml = loadToml();
  try {
    return { document: toml.parse(text, { integersAsBigInt: bigIntegers && 'asNeeded' }) };
  } catch (error) {
    const { message, line = 1 } = error as Error & { line?: number };
    return { message: quoteOutside(message.split('\n')[0]!.replace(/^Invalid TOML document: /, '')), line };
  }
}

/**
 * Returns the line of a key, or of the nearest key above it, because the parser keeps no positions. Tables of an array
 * are counted from `first`.
 */
export function lineOf(text: string, path: TomlPath, first = 0): number {
  const lines = text.split('\n');
  const seen = new Map<string, number>();
  let table: (string | number)[] = [];
  let best = 1;
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index]!.trim();
    const header = /^(\[{1,2})([^\]]+)\]{1,2}/.exec(line);
    if (header) {
      const keys = splitKey(header[2]!);
      table = keys;
      if (header[1] === '[[') {
        const name = keys.join('.');
        const at = seen.get(name) ?? first;
        seen.set(name, at + 1);
        table = [...keys, at];
      }
    }
    const key = /^((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=/.exec(line);
    const here = header ? table : key ? [...table, ...splitKey(key[1]!)] : undefined;
    if (here === undefined || here.length > path.length || here.some((step, at) => String(step) !== String(path[at])))
      continue;
    best = index + 1;
    if (here.length === path.length) return best;
  }
  return best;
}

function splitKey(text: string): string[] {
  return (text.match(/"[^"]*"|'[^']*'|[A-Za-z0-9_-]+/g) ?? []).map((step) => step.replace(/^["']|["']$/g, ''));
}
