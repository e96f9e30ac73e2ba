// Keeps the last lines of a server's output in bounded memory.

import { sanitize } from '../../core/text.js';

export interface Tail {
  add(chunk: Uint8Array | string): void;
  /** Returns the last lines, sanitized, oldest first. */
  lines(): readonly string[];
}

const MAX_CHARACTERS = 16 * 1024;
const MAX_LINES = 20;
const MAX_LINE_CHARACTERS = 400;

export function createTail(): Tail {
  let text = '';
  return {
    add(chunk) {
      const piece = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
      text = (text + piece).slice(-MAX_CHARACTERS);
    },
    lines: () =>
      sanitize(text)
        .split('\n')
        .map((line) => line.trimEnd())
        .filter((line) => line !== '')
        .slice(-MAX_LINES)
        .map((line) => (line.length > MAX_LINE_CHARACTERS ? `${line.slice(0, MAX_LINE_CHARACTERS - 1)}…` : line)),
  };
}
