// The last lines that a server said beside the protocol: kept in little room, however much it says.

import { sanitize } from '../../core/text.js';

export interface Tail {
  add(chunk: Uint8Array | string): void;
  /** The last lines, harmless, oldest first. */
  lines(): readonly string[];
}

const KEPT_CHARACTERS = 16 * 1024;
const KEPT_LINES = 20;
const LINE_CHARACTERS = 400;

export function createTail(): Tail {
  let text = '';
  return {
    add(chunk) {
      const piece = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
      text = (text + piece).slice(-KEPT_CHARACTERS);
    },
    lines: () =>
      sanitize(text)
        .split('\n')
        .map((line) => line.trimEnd())
        .filter((line) => line !== '')
        .slice(-KEPT_LINES)
        .map((line) => (line.length > LINE_CHARACTERS ? `${line.slice(0, LINE_CHARACTERS - 1)}…` : line)),
  };
}
