// Text for people: sanitizing untrusted text, similar names, sizes and durations.

// Control characters except tab and newline, bidirectional controls, zero-width characters, and tag characters, which
// are invisible to people but readable for models (ERR-5).
const UNSAFE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

// Removed as a whole, so that no rest such as "[31m" remains.
const ESCAPE_SEQUENCE = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-_])/g;

const PLAIN = /^[\n\u0020-\u007e]*$/;

/** Removes everything from untrusted text that could move a cursor or reorder a line; newlines stay. */
export function sanitize(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(ESCAPE_SEQUENCE, '').replace(UNSAFE, '');
}

/** Replaces invisible characters of untrusted text by their code points, such as `<U+202E>`, for review. */
export function revealHidden(text: string): string {
  if (PLAIN.test(text)) return text;
  // Includes fillers and variation selectors; newlines and tabs are visible.
  return text.replace(/[^\P{C}\n\t]|[\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, reveal);
}

/** Like `revealHidden`, on one line: newlines, tabs and unusual spaces are replaced too. */
export function spellOut(text: string): string {
  if (/^[\u0020-\u007e]*$/.test(text)) return text;
  const line = text.replaceAll('\n', '\\n').replaceAll('\t', '\\t');
  return revealHidden(line).replace(/(?! )\p{Zs}|\u2800/gu, reveal);
}

/** Returns the code point of a character: `<U+200B>`. */
export function reveal(character: string): string {
  return `<U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}>`;
}

/** Sanitizes untrusted text for use in a sentence: one line of at most `limit` characters. */
export function quoteOutside(text: string, limit = 120): string {
  const line = sanitize(text).replace(/\s+/g, ' ').trim();
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}

// No name that someone mistyped is longer, and comparing takes time.
const MAX_NEAR_LENGTH = 100;

/** Returns up to three candidates similar to a name, most similar first. */
export function nearest(name: string, candidates: Iterable<string>): string[] {
  if (name.length > MAX_NEAR_LENGTH) return [];
  const wanted = name.toLowerCase();
  const limit = Math.max(1, Math.floor(wanted.length / 3));
  const scored: { candidate: string; distance: number }[] = [];
  for (const candidate of candidates) {
    const other = candidate.toLowerCase();
    const [first = other] = other.split(/[-_:.]/, 1);
    // A short word with another first letter is another word: foo is not roo.
    if (wanted.length <= 3 && other[0] !== wanted[0]) continue;
    const isBeginning = other.startsWith(wanted) && wanted.length > 1;
    // The first part of a name is close too: clade means claude-code.
    const ofPart = first === other || wanted.length <= 3 ? limit + 1 : near(wanted, first, limit) + 0.5;
    const distance = isBeginning ? 1 : Math.min(near(wanted, other, limit), ofPart);
    if (Math.floor(distance) <= limit) scored.push({ candidate, distance });
  }
  scored.sort(
    (a, b) =>
      a.distance - b.distance || a.candidate.length - b.candidate.length || compareText(a.candidate, b.candidate),
  );
  return scored.slice(0, 3).map((entry) => entry.candidate);
}

/** Returns `did you mean x?` with the candidate most similar to a name, as `show` writes it, or another hint. */
export function didYouMean(
  name: string,
  candidates: Iterable<string>,
  otherwise: string,
  show: (close: string) => string = String,
): string {
  const [close] = nearest(name, candidates);
  return close === undefined ? otherwise : `did you mean ${show(close)}?`;
}

function near(wanted: string, other: string, limit: number): number {
  return Math.abs(other.length - wanted.length) > limit ? limit + 1 : editDistance(wanted, other, limit);
}

// Damerau-Levenshtein distance; anything above `limit` is returned as limit + 1.
function editDistance(from: string, to: string, limit: number): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    let best = row;
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      let cost = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + (same ? 0 : 1));
      if (row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]) {
        cost = Math.min(cost, beforeLast[column - 2]! + 1);
      }
      current.push(cost);
      best = Math.min(best, cost);
    }
    if (best > limit) return limit + 1;
    beforeLast = last;
    last = current;
  }
  return last[to.length]!;
}

/** Shortens a path for display: relative to the workdir or to the home directory if it is inside. */
export function shortenPath(path: string, workdir: string | undefined, home: string | undefined): string {
  if (workdir !== undefined && path.startsWith(`${workdir}/`)) return path.slice(workdir.length + 1);
  return home !== undefined && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

/** Decodes a percent-encoded text; returns it unchanged if it is invalid. */
export function decodeUri(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Splits a table of words that is written over several lines. */
export function words(text: string): string[] {
  return text.trim().split(/\s+/);
}

/** Compares names by code unit, independent of the locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const MAX_LISTED = 100;

/** Joins what `toWord` returns for each; of more than 100, the first 100 and the number of the others. */
export function listSome<T>(all: readonly T[], toWord: (one: T) => string = String): string {
  const words = all.slice(0, MAX_LISTED).map(toWord).join(', ');
  return all.length <= MAX_LISTED ? words : `${words} and ${all.length - MAX_LISTED} more`;
}

/** Formats a count with its noun: `1 problem`, `2 problems`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** Formats bytes: `512 B`, `16 MiB`, `1.5 GiB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${Number(value.toFixed(1))} ${units[unit]}`;
}

/** Formats a duration: `250 ms`, `5 s`, `2 min`, `12 h`, `3 days`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  const [unit, size] =
    seconds < 120 ? ['s', 1] : seconds < 7200 ? ['min', 60] : seconds < 172_800 ? ['h', 3600] : ['days', 86_400];
  return `${Number((seconds / Number(size)).toFixed(1))} ${unit}`;
}

/** What `parseDuration` accepts; without regard to case. */
export const DURATION = /^(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d|days?)?$/i;

const DURATION_UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  day: 86_400_000,
  days: 86_400_000,
};

/** Parses `500ms`, `30s`, `5m`, `1h`, `3d`, the output of `formatDuration`, or a number of seconds into milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const match = DURATION.exec(text.trim());
  if (!match) return undefined;
  const milliseconds = Number(match[1]) * DURATION_UNITS[(match[2] ?? 's').toLowerCase()]!;
  // Node timers are limited to 2^31 - 1 milliseconds; longer ones fire at once.
  return milliseconds >= 1 && milliseconds < 2 ** 31 ? Math.round(milliseconds) : undefined;
}

/** What `parseBytes` accepts; without regard to case. */
export const BYTES = /^(\d+(?:\.\d+)?)\s*(?:(K|M|G|T)(?:i?B)?|B)?$/i;

/** Parses `4096`, `64K`, `512M` or `2GiB` into bytes; undefined for anything else. */
export function parseBytes(text: string): number | undefined {
  const match = BYTES.exec(text.trim());
  if (!match) return undefined;
  const power = match[2] === undefined ? 0 : 'KMGT'.indexOf(match[2].toUpperCase()) + 1;
  const bytes = Math.round(Number(match[1]) * 1024 ** power);
  return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : undefined;
}

/** Returns the line number of an offset, counted from 1. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

const PIECES =
  /[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d{1,3}|\s+|[\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]|[^\x00-\x7f]+|[^\sA-Za-z\d\x80-\uffff]{1,4}/g;

const COMMON_WORD = 7;

/**
 * Estimates the tokens of a text. For definitions of tools the sum is within 3 % of o200k_base and cl100k_base, and nine
 * of ten tools are within 14 % (decision 0038).
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(PIECES)) {
    const code = piece.charCodeAt(0);
    if ((code >= 65 && code <= 90) || (code >= 97 && code <= 122)) {
      // Long words are split.
      tokens += 1 + Math.max(0, piece.length - COMMON_WORD) * 0.1;
    } else if (code >= 48 && code <= 57) tokens += 1;
    else if (code > 127) tokens += code >= 0x3000 ? 0.8 : piece.length * 0.5;
    else if (code === 32 && piece.length === 1) continue;
    else tokens += code <= 32 ? 0.6 : 0.95;
  }
  return Math.ceil(tokens);
}

/** Quotes an argument for a shell if needed. */
export function quoteWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, `'\\''`)}'`;
}
