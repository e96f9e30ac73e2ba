// Splits stored bytes into pages at line or character boundaries.

import type { Readable } from '../core/store.js';

const NEWLINE = 0x0a;
const WINDOW = 64 * 1024;

/** Range of bytes; the end is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Returns the start of each page and the end of the last. `text`: pages end at lines or characters if possible. */
export function findPages(source: Readable, pageBytes: number, text: boolean): number[] {
  const starts = [0];
  for (let at = 0; at < source.size; ) {
    at = text ? endOfPage(source, at, pageBytes) : Math.min(at + pageBytes, source.size);
    starts.push(at);
  }
  // Empty content is one empty page.
  return starts.length === 1 ? [0, 0] : starts;
}

/** Returns the end of a page of at most `pageBytes`: after the last complete line, or the last complete character. */
export function endOfPage(source: Readable, start: number, pageBytes: number): number {
  if (start + pageBytes >= source.size) return source.size;
  const bytes = source.read(start, pageBytes);
  const newline = bytes.lastIndexOf(NEWLINE);
  if (newline >= 0) return start + newline + 1;
  return startOfCharacter(source, start + pageBytes, start + 1);
}

/** Returns the start of the character at `at`, at least `least`. */
export function startOfCharacter(source: Readable, at: number, least = 0): number {
  // A UTF-8 character has at most three continuation bytes; binary data has no boundaries.
  for (let back = 0; back <= 3 && at - back >= least; back++) {
    const [byte] = source.read(at - back, 1);
    if (byte === undefined || (byte & 0xc0) !== 0x80) return at - back;
  }
  return at;
}

/** Returns the bytes of lines `first` to `last`, counted from 1, and the number of lines scanned. */
export function findLines(source: Readable, first: number, last: number): Span & { readonly lines: number } {
  let line = 1;
  let start = first === 1 ? 0 : source.size;
  for (let at = 0; at < source.size; at += WINDOW) {
    const bytes = source.read(at, WINDOW);
    for (let newline = bytes.indexOf(NEWLINE); newline >= 0; newline = bytes.indexOf(NEWLINE, newline + 1)) {
      const next = at + newline + 1;
      if (line === last) return { start, end: next, lines: line };
      // A final newline ends the last line.
      if (next < source.size) line++;
      if (line === first && next < source.size) start = next;
    }
  }
  return { start, end: source.size, lines: line };
}
