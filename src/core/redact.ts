// Removes secrets from text, JSON and outputs: known values in all their encodings, and values of sensitive names.

import { ToolError } from './error.js';
import { escapePointer, type Json } from './json.js';
import type { Output, Part } from './result.js';
import { isSensitiveName } from './sensitive-name.js';
import { quoteOutside, sanitize } from './text.js';

/** Replacement of a secret. */
export const REDACTED = '[redacted]';
/** Shorter secrets are not redacted: they occur in ordinary text too often. */
export const SHORTEST_SECRET = 4;

/** The secrets of all servers started so far; the array is replaced, not changed. */
export interface KnownSecrets {
  all: readonly string[];
}

// Cached, because the secrets of a call are one array that is used many times.
const known = new WeakMap<readonly string[], readonly string[]>();

/** Removes secrets from text, as they are written in messages, JSON and URLs. */
export function redactKnown(text: string, secrets: readonly string[]): string {
  if (secrets.length === 0 || text.length < SHORTEST_SECRET) return text;
  const found = findForms(text, secrets);
  return found.length === 0 ? text : cutOut(text, found);
}

function findForms(text: string, secrets: readonly string[]): [number, number][] {
  const found: [number, number][] = [];
  for (const form of formsOf(secrets)) {
    for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + form.length))
      found.push([at, at + form.length]);
  }
  return found;
}

// Overlapping secrets are removed together.
function cutOut(text: string, found: [number, number][]): string {
  found.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  let rest = '';
  let end = 0;
  for (const [from, to] of found) {
    if (from >= end) rest += `${text.slice(end, from)}${REDACTED}`;
    end = Math.max(end, to);
  }
  return rest + text.slice(end);
}

function formsOf(secrets: readonly string[]): readonly string[] {
  let forms = known.get(secrets);
  if (forms === undefined) {
    forms = [...new Set(secrets.flatMap(toForms))].filter((form) => form.length >= SHORTEST_SECRET);
    known.set(secrets, forms);
  }
  return forms;
}

function toForms(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  // encodeURIComponent rejects lone surrogates.
  const inUrl = encodeURIComponent(secret.replace(/\p{Cs}/gu, '\ufffd'));
  const inMessage = [sanitize(secret), quoteOutside(secret, secret.length)];
  return [secret, inJson, escapePointer(secret), ...inMessage, inUrl];
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
  const found = findForms(texts.join(''), secrets);
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
  let changed = false;
  const entries = Object.entries(value as Record<string, Json>).map(([key, child]): [string, unknown] => {
    const name = redactKnown(key, secrets);
    const rest = skips(key, child) ? child : walk(child, secrets, skips);
    changed ||= name !== key || rest !== child;
    return [name, rest];
  });
  return changed ? Object.fromEntries(entries) : value;
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
