// Pages of stored bytes: none cuts a character, nor a line that fits a page; together they are the whole.

import type { Readable } from './store.js';

const NEWLINE = 0x0a;
const WINDOW = 64 * 1024;

/** A stretch of bytes. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Where each page begins, and the end of the last. `text`: pages end with lines and characters where they can. */
export function findPages(source: Readable, pageBytes: number, text: boolean): number[] {
  const starts = [0];
  for (let at = 0; at < source.size; ) {
    at = text ? endOfPage(source, at, pageBytes) : Math.min(at + pageBytes, source.size);
    starts.push(at);
  }
  // Nothing is one empty page.
  return starts.length === 1 ? [0, 0] : starts;
}

/** At most `pageBytes` from `start`, cut after the last line that is whole, else after the last whole character. */
export function endOfPage(source: Readable, start: number, pageBytes: number): number {
  if (start + pageBytes >= source.size) return source.size;
  const bytes = source.read(start, pageBytes);
  const newline = bytes.lastIndexOf(NEWLINE);
  if (newline >= 0) return start + newline + 1;
  return startOfCharacter(source, start + pageBytes, start + 1);
}

/** The beginning of the character that `at` lies in, not before `least`. */
export function startOfCharacter(source: Readable, at: number, least = 0): number {
  // A character of UTF-8 has at most three bytes after its first; in other bytes there is none to be found.
  for (let back = 0; back <= 3 && at - back >= least; back++) {
    const [byte] = source.read(at - back, 1);
    if (byte === undefined || (byte & 0xc0) !== 0x80) return at - back;
  }
  return at;
}

/** The bytes of lines `first` to `last`, counted from 1, and how many lines there are up to where was looked. */
export function findLines(source: Readable, first: number, last: number): Span & { readonly lines: number } {
  let line = 1;
  let start = first === 1 ? 0 : source.size;
  for (let at = 0; at < source.size; at += WINDOW) {
    const bytes = source.read(at, WINDOW);
    for (let newline = bytes.indexOf(NEWLINE); newline >= 0; newline = bytes.indexOf(NEWLINE, newline + 1)) {
      const next = at + newline + 1;
      if (line === last) return { start, end: next, lines: line };
      // A newline at the very end ends the last line and begins none.
      if (next < source.size) line++;
      if (line === first && next < source.size) start = next;
    }
  }
  return { start, end: source.size, lines: line };
}
