// Takes secrets out of what is recorded: values that are known, and whatever stands under a name that tells of one.

import type { Json } from '../core/json.js';
import { REDACTED, redactKnown, SHORTEST_SECRET } from '../core/redact.js';
import { isSensitiveName } from '../core/sensitive-name.js';

// `API_KEY=…`, `"password": "…"`, `Authorization: Bearer …` in the midst of text. It begins with the telling word and
// repeats nothing without a bound, since the text can be long and hostile.
const IN_TEXT =
  /((?:passw(?:or)?d|passphrase|secret|token|credential|authorization|cookie|api[_-]?key|access[_-]?key|private[_-]?key)[\w-]{0,40}"?\s{0,3}[=:]\s{0,3})("[^"\n]*"?|(?:(?:Bearer|Basic)\s)?[^\s",;]+)/gi;
// How many values of one call are looked for, and how long one can be to be found where a text is cut.
const MOST = 200;
const LONGEST = 4096;

/** The values under telling names, so that they are found again where a tool repeats them. */
export function findTellingValues(value: Json | undefined): string[] {
  const found: string[] = [];
  const collect = (node: Json, telling: boolean): void => {
    if (found.length >= MOST) return;
    if (typeof node === 'object' && node !== null) {
      for (const [key, child] of Object.entries(node)) collect(child, telling || isSensitiveName(key));
    } else if (telling && node !== null && typeof node !== 'boolean') {
      const text = String(node);
      if (text.length >= SHORTEST_SECRET) found.push(text);
    }
  };
  if (value !== undefined) collect(value, false);
  return found;
}

/** At most the first `limit` characters of a text, without the given secrets and without what follows a telling name. */
export function redactText(text: string, secrets: readonly string[], limit: number): string {
  const redact = (part: string): string => redactKnown(part, secrets).replace(IN_TEXT, `$1${REDACTED}`);
  if (text.length <= limit + LONGEST) return cutText(redact(text), limit);
  // What stands at the cut may be the beginning of a secret, so it is left out.
  return cutText(`${redact(text.slice(0, limit + LONGEST)).slice(0, -LONGEST)}…`, limit);
}

/** A text of at most `limit` characters. */
export function cutText(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit - 1)}…` : text;
}

/** A copy without the given secrets and without values under telling names; texts are cut at `limit`. */
export function redactJson(value: Json, secrets: readonly string[], limit: number): Json {
  if (typeof value === 'string') return redactText(value, secrets, limit);
  // A number can be a secret as well as text can.
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
