// Removes secrets from text, JSON and outputs: known values in all their encodings, and values of sensitive names.

import { ToolError } from './error.js';
import type { Json } from './json.js';
import type { Output, Part } from './result.js';
import { findSecrets, SHORTEST_SECRET } from './secret-forms.js';

/** Replacement of a secret. */
export const REDACTED = '[redacted]';

/** The secrets of all servers started so far; the array is replaced, not changed. */
export interface KnownSecrets {
  all: readonly string[];
}

/** Removes secrets from text, as they are written in messages, JSON and URLs, and encoded. */
export function redactKnown(text: string, secrets: readonly string[]): string {
  if (secrets.length === 0 || text.length < SHORTEST_SECRET) return text;
  const found = findSecrets(text, secrets);
  return found.length === 0 ? text : cutOut(text, found);
}

function cutOut(text: string, found: readonly [number, number][]): string {
  let rest = '';
  let end = 0;
  for (const [from, to] of found) {
    rest += `${text.slice(end, from)}${REDACTED}`;
    end = to;
  }
  return rest + text.slice(end);
}

// A number can be a secret too.
function redactNumber(value: number, secrets: readonly string[]): number | string {
  return secrets.includes(String(value)) ? REDACTED : value;
}

/** Redacts every text, key and number of a value; returns the value itself if nothing changed. */
export function redactValue<T>(value: T, secrets: readonly string[]): T {
  if (secrets.length === 0) return value;
  return walk(value, secrets, () => false) as T;
}

/** Redacts an output, except the bytes of images, audio and blobs. */
export function redactOutput(output: Output, secrets: readonly string[]): Output {
  if (secrets.length === 0) return output;
  const content = redactSplit(walk(output.content, secrets, isBytes) as readonly Part[], secrets);
  const structured = redactValue(output.structured, secrets);
  const meta = redactValue(output.meta, secrets);
  const error = output.error === undefined ? undefined : redactError(output.error, secrets);
  if (content === output.content && structured === output.structured && meta === output.meta && error === output.error)
    return output;
  return { ...output, content, structured, meta, error };
}

// Redacts secrets that begin in one text part and end in the next.
function redactSplit(parts: readonly Part[], secrets: readonly string[]): readonly Part[] {
  const texts = parts.map((part) => (part.type === 'text' ? part.text : ''));
  if (texts.filter((text) => text !== '').length < 2) return parts;
  const found = findSecrets(texts.join(''), secrets);
  if (found.length === 0) return parts;
  let end = 0;
  return parts.map((part, at) => {
    const text = texts[at]!;
    const begin = end;
    end += text.length;
    const here = found
      .map(([from, to]): [number, number] => [Math.max(from, begin) - begin, Math.min(to, end) - begin])
      .filter(([from, to]) => from < to);
    return here.length === 0 || part.type !== 'text' ? part : { ...part, text: cutOut(text, here) };
  });
}

/** Redacts an error; its cause is dropped if anything was redacted. */
export function redactError(error: ToolError, secrets: readonly string[]): ToolError {
  const message = redactKnown(error.message, secrets);
  const hint = error.hint === undefined ? undefined : redactKnown(error.hint, secrets);
  const data = redactValue(error.data, secrets);
  if (message === error.message && hint === error.hint && data === error.data) return error;
  return new ToolError(error.code, message, { hint, data });
}

const isBytes = (key: string, value: unknown): boolean =>
  (key === 'data' || key === 'blob') && typeof value === 'string';

function walk(value: unknown, secrets: readonly string[], skips: (key: string, value: unknown) => boolean): unknown {
  if (typeof value === 'string') return redactKnown(value, secrets);
  if (typeof value === 'number') return redactNumber(value, secrets);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const copy = value.map((child: unknown) => walk(child, secrets, skips));
    return copy.some((child, at) => child !== value[at]) ? copy : value;
  }
  const entries = Object.entries(value);
  const copy = entries.map(([key, child]): [string, unknown] => [
    redactKnown(key, secrets),
    skips(key, child) ? child : walk(child, secrets, skips),
  ]);
  const isSame = copy.every(([key, child], at) => key === entries[at]![0] && child === entries[at]![1]);
  return isSame ? value : Object.fromEntries(copy);
}

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
  if (typeof value === 'number') return redactNumber(value, secrets);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((child) => redactJson(child, secrets, limit));
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [
      redactKnown(key, secrets),
      isSensitiveName(key) ? REDACTED : redactJson(child, secrets, limit),
    ]),
  );
}

export function addSecrets(secrets: KnownSecrets, values: readonly string[]): void {
  const added = values.filter((value) => !secrets.all.includes(value));
  if (added.length > 0) secrets.all = [...secrets.all, ...new Set(added)];
}

const SECRET =
  /passw(?:or)?d|passphrase|secret|token|credential|authorization|cookie|bearer|(?:api|access|private|signing|encryption|ssh)key/;

const SECRET_WORDS = new Set(['auth', 'jwt', 'key', 'otp', 'pass', 'pin', 'pwd']);

/** Whether a name is that of a secret: `apiKey`, `db_password`, `Authorization`. */
export function isSensitiveName(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return SECRET.test(words.join('')) || words.some((word) => SECRET_WORDS.has(word));
}

const PLAIN = [
  /^(?:true|false|yes|no|on|off|null|none|undefined)?$/i,
  /^(?:trace|debug|verbose|info|notice|warn|warning|error|fatal|critical|silent)$/i,
  /^-?\d{1,5}(?:\.\d{1,3})?$/,
  // Paths, words, host names and email addresses.
  /^(?:~|\.{1,2})?\/(?:[\w.@ -]+\/){0,40}[\w.@ -]{0,100}$/,
  /^[A-Za-z][a-z]*(?:[,._-](?:[A-Za-z][a-z]*|[A-Z]{2,4})){0,2}$/,
  /^[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}$/,
];

/** Whether a text is clearly not a secret: a flag, a small number, a path, a word. */
export function isPlainText(value: string): boolean {
  if (value.length > 500) return false;
  const isPath = value.split('/').length > 2;
  return PLAIN.some((pattern) => pattern.test(value)) && (isPath || !isOpaque(value));
}

/** Whether a string is long and mixed enough to be a token. */
export function isOpaque(text: string): boolean {
  if (text.length < 20) return false;
  return text.split(/[-_.~/]/).some((piece) => piece.length >= 8 && /\d/.test(piece) && /[A-Za-z]/.test(piece));
}
