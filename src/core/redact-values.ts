// Redacts secrets: known values, and values of sensitive names.

import type { Json } from './json.js';
import { REDACTED, redactKnown, SHORTEST_SECRET } from './redact.js';
import { isSensitiveName } from './sensitive-name.js';

// Finds `API_KEY=…`, `"password": "…"`, `Authorization: Bearer …` in text. Every repetition is bounded, because the text
// can be long and hostile.
const IN_TEXT =
  /((?:passw(?:or)?d|passphrase|secret|token|credential|authorization|cookie|api[_-]?key|access[_-]?key|private[_-]?key)[\w-]{0,40}"?\s{0,3}[=:]\s{0,3})("[^"\n]*"?|(?:(?:Bearer|Basic)\s)?[^\s",;]+)/gi;
const MAX_VALUES = 200;
// Longest secret that is still found where a text is cut.
const MAX_SECRET = 4096;

/** Returns the values of sensitive names, to redact them where a tool repeats them. */
export function findSensitiveValues(value: Json | undefined): string[] {
  const found: string[] = [];
  const collect = (node: Json, isSensitive: boolean): void => {
    if (found.length >= MAX_VALUES) return;
    if (typeof node === 'object' && node !== null) {
      for (const [key, child] of Object.entries(node)) collect(child, isSensitive || isSensitiveName(key));
    } else if (isSensitive && node !== null && typeof node !== 'boolean') {
      const text = String(node);
      if (text.length >= SHORTEST_SECRET) found.push(text);
    }
  };
  if (value !== undefined) collect(value, false);
  return found;
}

/** Returns at most `limit` characters of a text, without the given secrets and values of sensitive names. */
export function redactText(text: string, secrets: readonly string[], limit: number): string {
  const redact = (part: string): string => redactKnown(part, secrets).replace(IN_TEXT, `$1${REDACTED}`);
  if (text.length <= limit + MAX_SECRET) return cutText(redact(text), limit);
  // The text at the cut may be the start of a secret.
  return cutText(`${redact(text.slice(0, limit + MAX_SECRET)).slice(0, -MAX_SECRET)}…`, limit);
}

/** Cuts a text to at most `limit` characters. */
export function cutText(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit - 1)}…` : text;
}

/** Copies a value without the given secrets and values of sensitive names; texts are cut at `limit`. */
export function redactJson(value: Json, secrets: readonly string[], limit: number): Json {
  if (typeof value === 'string') return redactText(value, secrets, limit);
  // A number can be a secret too.
  if (typeof value === 'number') return secrets.includes(String(value)) ? REDACTED : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((child) => redactJson(child, secrets, limit));
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [
      redactKnown(key, secrets),
      isSensitiveName(key) ? REDACTED : redactJson(child, secrets, limit),
    ]),
  );
}
