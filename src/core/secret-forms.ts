// Finds secrets in text: as they are, escaped in URLs and JSON in any way, and as bytes in Base64 and hexadecimal.

import { orNothing } from './error.js';
import { escapePointer } from './json.js';
import { memoize } from './memoize.js';
import { quoteOutside, sanitize } from './text.js';

/** Shorter secrets are not redacted: they occur in ordinary text too often. */
export const SHORTEST_SECRET = 4;

type Range = [from: number, to: number];

interface Form {
  /** For an escaped form, without its escapes and blanks (`fold`). */
  readonly text: string;
  /** What an escaped form must decode to; without it, blanks in it are allowed. */
  readonly secret?: string;
}

/** Forms by their first four characters. */
interface Matcher {
  readonly forms: ReadonlyMap<number, readonly Form[]>;
  readonly byFirst: ReadonlyMap<string, readonly Form[]>;
  /** Which beginnings there may be, by `toSlot`. */
  readonly slots: Uint8Array;
}

/** Returns where secrets are in a text, in order; overlapping ones are one. */
export function findSecrets(text: string, secrets: readonly string[]): readonly Range[] {
  const { exact, escaped } = matchersOf(secrets);
  const found = findExact(text, exact);
  if (!/[%\\\s]/.test(text)) return found;
  const more = findEscaped(text, escaped);
  if (more.length === 0) return found;
  const all: Range[] = [];
  for (const [from, to] of [...found, ...more].sort((a, b) => a[0] - b[0])) add(all, from, to);
  return all;
}

/** Returns where the end of a text begins that may be the beginning of a secret; the length of the text if none may. */
export function findBeginning(text: string, secrets: readonly string[]): number {
  const { exact, escaped, longest } = matchersOf(secrets);
  const whole = text.length - INCOMPLETE.exec(text.slice(-MAX_INCOMPLETE))![0].length;
  for (let from = Math.max(0, text.length - longest); from < whole; from++) {
    const isExact = ({ text: form }: Form): boolean =>
      form.length > text.length - from && form.startsWith(text.slice(from));
    if (exact.byFirst.get(text[from]!)?.some(isExact)) return from;
    const isEscaped = ({ text: form }: Form): boolean => {
      const { at, end, matched } = follow(text, from, form);
      // The last letter of a line is no reason to hold the line back.
      return at >= whole && matched < form.length && (end === at || matched >= SHORTEST_ENCODED);
    };
    if (escaped.byFirst.get(readUnit(text, from).unit[0] ?? '')?.some(isEscaped)) return from;
  }
  return whole;
}

// Reads a text once, however many forms there are.
function findExact(text: string, { forms, slots }: Matcher): Range[] {
  const found: Range[] = [];
  let key = 0;
  for (let at = 0; at < text.length; at++) {
    key = addToKey(key, text.charCodeAt(at));
    if (slots[toSlot(key)] === 0 || at < SHORTEST_SECRET - 1) continue;
    const from = at - SHORTEST_SECRET + 1;
    for (const { text: form } of forms.get(key) ?? []) {
      const length = text.startsWith(form, from) ? form.length : lengthOfCut(text, from, form);
      if (length > 0) add(found, from, from + length);
    }
  }
  return found;
}

// Reads a text once too, without its escapes and blanks.
function findEscaped(text: string, { forms, slots }: Matcher): Range[] {
  const found: Range[] = [];
  // Where the last four characters begin.
  const starts = new Int32Array(SHORTEST_SECRET);
  let count = 0;
  let key = 0;
  const search = (): void => {
    const from = starts[count % SHORTEST_SECRET]!;
    for (const form of forms.get(key) ?? []) {
      const end = count < SHORTEST_SECRET ? undefined : endOfEscaped(text, from, form);
      if (end !== undefined) add(found, from, end);
    }
  };
  const step = (code: number, at: number): void => {
    starts[count++ % SHORTEST_SECRET] = at;
    key = addToKey(key, code);
    if (slots[toSlot(key)] !== 0) search();
  };
  for (let at = 0, end = 1; at < text.length; at = end, end++) {
    const code = text.charCodeAt(at);
    if (code === PERCENT || code === BACKSLASH) {
      const read = readUnit(text, at);
      end = read.end;
      for (let index = 0; read.unit > ' ' && index < read.unit.length; index++) step(read.unit.charCodeAt(index), at);
    } else if (code > BLANK) step(code, at);
  }
  return found;
}

function add(found: Range[], from: number, to: number): void {
  const last = found.at(-1);
  if (last !== undefined && from < last[1]) last[1] = Math.max(last[1], to);
  else found.push([from, to]);
}

// A shorter beginning of a secret says little.
const SHORTEST_CUT = 10;

// Returns the length of the beginning of a form that is at the end of a text, or where it was cut before (SEC-8).
function lengthOfCut(text: string, from: number, form: string): number {
  let length = SHORTEST_SECRET;
  while (length < form.length && text[from + length] === form[length]) length++;
  const isCut = length >= SHORTEST_CUT && /^ ?(?:…|\n|$)/.test(text.slice(from + length, from + length + 2));
  return isCut && text.startsWith(form.slice(0, length), from) ? length : 0;
}

// An escape that was cut.
const MAX_INCOMPLETE = 24;
const INCOMPLETE = /(?:%(?:25)*[89a-f][0-9a-f]){0,3}(?:%(?:25)*[0-9a-f]?|\\+(?:u[0-9a-f]{0,3})?)?$/i;
const CUT = /^(?:%[0-9a-f]?|\\+(?:u[0-9a-f]{0,3})?)? ?(?:…|\n|$)/i;

// More characters than any encoding has for one of a secret.
const LONGEST_UNIT = 16;

// Returns where a form ends that begins at a place, or where it was cut.
function endOfEscaped(text: string, from: number, { text: form, secret }: Form): number | undefined {
  const { end, matched } = follow(text, from, form);
  // Without escapes and blanks it is found as it is.
  if (end - from === matched) return undefined;
  if (matched < form.length && (matched < SHORTEST_CUT || !CUT.test(text.slice(end, end + MAX_INCOMPLETE))))
    return undefined;
  if (secret === undefined) return end;
  if (end - from > secret.length * LONGEST_UNIT) return undefined;
  return decodesTo(text.slice(from, end), secret, MAX_LAYERS) ? end : undefined;
}

// Reads on as long as the text is that of a form. `end` is after the last character that is in it.
function follow(text: string, from: number, form: string): { at: number; end: number; matched: number } {
  let at = from;
  let end = from;
  let matched = 0;
  while (at < text.length && matched < form.length) {
    const { unit, end: next } = readUnit(text, at);
    if (unit > ' ') {
      if (!form.startsWith(unit, matched)) break;
      matched += unit.length;
      end = next;
    }
    at = next;
  }
  return { at, end, matched };
}

const MAX_LAYERS = 3;

// Whether a text is a secret, or its beginning, encoded up to three times.
function decodesTo(text: string, secret: string, layers: number): boolean {
  if (secret.startsWith(text.replace(/^\\+/, ''))) return true;
  return (
    layers > 0 && [decodeUrl(text), decodeJson(text)].some((one) => one !== text && decodesTo(one, secret, layers - 1))
  );
}

function decodeUrl(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (bytes) => orNothing(() => decodeURIComponent(bytes)) ?? bytes);
}

function decodeJson(text: string): string {
  return text.replace(/\\(?:u([0-9a-f]{4})|(.))/gis, (_, code: string | undefined, one: string) =>
    code === undefined ? (SHORT.get(one) ?? one) : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

const SHORT: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['b', '\b'],
  ['f', '\f'],
]);

const PERCENT = 0x25;
const BACKSLASH = 0x5c;
const BLANK = 0x20;

// Returns a text without escapes and blanks: the same one, however often and in whichever way it is escaped.
function fold(text: string): string {
  let folded = '';
  for (let at = 0; at < text.length; ) {
    const { unit, end } = readUnit(text, at);
    if (unit > ' ') folded += unit;
    at = end;
  }
  return folded;
}

// Reads one character: itself, percent-encoded, or escaped as in JSON, each as often as it may be. Backslashes are only
// escapes here.
function readUnit(text: string, at: number): { readonly unit: string; readonly end: number } {
  const end = endOfBackslashes(text, at);
  if (end > at) {
    const code = text[end] === 'u' ? readHex(text, end + 1, 4) : -1;
    if (code >= 0) return { unit: String.fromCharCode(code), end: end + 5 };
    const short = SHORT.get(text[end] ?? '');
    if (short !== undefined) return { unit: short, end: end + 1 };
  }
  if (text.charCodeAt(end) !== PERCENT) return { unit: text[end] ?? '', end: end + 1 };
  const digits = digitsAt(text, end);
  const byte = readHex(text, digits, 2);
  if (byte >= 0 && byte < 0x80) return { unit: String.fromCharCode(byte), end: digits + 2 };
  return (byte < 0xc0 ? undefined : readUtf8(text, end, byte)) ?? { unit: '%', end: end + 1 };
}

function readUtf8(text: string, at: number, first: number): { unit: string; end: number } | undefined {
  const more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  let code = first & (0x3f >> more);
  let end = digitsAt(text, at) + 2;
  for (let index = 0; index < more; index++) {
    const digits = digitsAt(text, end);
    const byte = text.charCodeAt(end) === PERCENT ? readHex(text, digits, 2) : -1;
    if (byte >> 6 !== 0b10) return undefined;
    code = (code << 6) | (byte & 0x3f);
    end = digits + 2;
  }
  return code > 0x10ffff ? undefined : { unit: String.fromCodePoint(code), end };
}

// Each can be a backslash, `%5C` or `\u005c`.
function endOfBackslashes(text: string, at: number): number {
  for (let end = at; ; ) {
    const code = text.charCodeAt(end);
    const digits = code === PERCENT ? digitsAt(text, end) : 0;
    if (code === BACKSLASH) end++;
    else if (digits > 0 && readHex(text, digits, 2) === BACKSLASH) end = digits + 2;
    else if (end > at && text[end] === 'u' && readHex(text, end + 1, 4) === BACKSLASH) end += 5;
    else return end;
  }
}

// Where the digits of a percent-encoded byte are, whose percent sign may be encoded too: %41, %2541.
function digitsAt(text: string, at: number): number {
  let digits = at + 1;
  while (readHex(text, digits, 2) === PERCENT && readHex(text, digits + 2, 2) >= 0) digits += 2;
  return digits;
}

// Returns -1 if these are not hexadecimal digits.
function readHex(text: string, at: number, length: number): number {
  let value = 0;
  for (let index = at; index < at + length; index++) {
    const code = text.charCodeAt(index);
    const letter = code | 0x20;
    if (code >= 0x30 && code <= 0x39) value = value * 16 + code - 0x30;
    else if (letter >= 0x61 && letter <= 0x66) value = value * 16 + letter - 0x57;
    else return -1;
  }
  return value;
}

const SLOTS = 2 ** 16;

// The last four characters, as far as they are distinguished.
function addToKey(key: number, code: number): number {
  return (key << 8) | (code & 0xff);
}

function toSlot(key: number): number {
  return (key ^ (key >>> 16)) & (SLOTS - 1);
}

// The secrets of a call are one array that is used many times.
const matchersOf = memoize((secrets: readonly string[]) => {
  const encoded = secrets.flatMap(toEncoded);
  const exact = createMatcher([...secrets.flatMap(toExact), ...encoded].map((text) => ({ text })));
  const escaped = createMatcher([...secrets.flatMap(toEscaped), ...encoded.map((text) => ({ text }))]);
  const longest = Math.max(0, ...secrets.map(({ length }) => length)) * LONGEST_UNIT;
  return { exact, escaped, longest };
});

function createMatcher(all: readonly Form[]): Matcher {
  const forms = new Map<number, Form[]>();
  const byFirst = new Map<string, Form[]>();
  const slots = new Uint8Array(SLOTS);
  for (const form of new Map(all.map((one) => [`${one.text}\n${one.secret}`, one])).values()) {
    if (form.text.length < SHORTEST_SECRET) continue;
    let key = 0;
    for (let at = 0; at < SHORTEST_SECRET; at++) key = addToKey(key, form.text.charCodeAt(at));
    forms.set(key, [...(forms.get(key) ?? []), form]);
    byFirst.set(form.text[0]!, [...(byFirst.get(form.text[0]!) ?? []), form]);
    slots[toSlot(key)] = 1;
  }
  return { forms, byFirst, slots };
}

function toExact(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  // encodeURIComponent rejects lone surrogates.
  const inUrl = encodeURIComponent(secret.replace(/\p{Cs}/gu, '\ufffd'));
  return [secret, inJson, inUrl, escapePointer(secret), sanitize(secret), quoteOutside(secret, secret.length)];
}

// In a form, `+` is a space.
function toEscaped(secret: string): Form[] {
  const inner = secret.replace(/^[\s\\]+/, '').replace(/(?<![\s\\])[\s\\]+$/, '');
  return [inner, inner.replaceAll(' ', '+')].map((one) => ({ text: fold(one), secret: one }));
}

// Shorter encoded texts occur by chance.
const SHORTEST_ENCODED = 6;

// As bytes: in hexadecimal, and in Base64, also behind other text such as `Bearer ` or `user:`.
function toEncoded(secret: string): string[] {
  const bytes = [...new TextEncoder().encode(secret)];
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
  const all = [hex, hex.toUpperCase(), ...[0, 1, 2].flatMap((before) => toBase64(bytes, before))];
  return all.filter((form) => form.length >= SHORTEST_ENCODED);
}

// The part of the Base64 text that depends on nothing but the secret, if so many bytes are before it in its group.
function toBase64(bytes: readonly number[], before: number): string[] {
  const text = btoa(String.fromCharCode(...Array<number>(before).fill(0), ...bytes)).replace(/=+$/, '');
  const isWhole = (before + bytes.length) % 3 === 0;
  const own = text.slice([0, 2, 3][before], isWhole ? undefined : -1);
  return [own, own.replaceAll('+', '-').replaceAll('/', '_')];
}
