// Neutralizes the output of tools on a terminal: escape sequences other than colours are shown, not executed.

import { StringDecoder } from 'node:string_decoder';
import { reveal } from '../core/text.js';

// Control characters except tab, newline and carriage return, and characters that reorder a line.
const UNSAFE_OR_COLOUR =
  /\u001b\[[0-9;:]{0,40}m|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
// The beginning of a colour at the end of a chunk.
const UNFINISHED = /\u001b(?:\[[0-9;:]{0,40})?$/;
const EXTENDED = /(?:38|48|58)[;:](?:5[;:]\d+|2(?:[;:]\d*){3,4})/g;
const RESET = '\u001b[0m';

/** Filters a stream of bytes for a terminal (CLI-4). */
export function createVisibleOutput() {
  const decoder = new StringDecoder('utf8');
  let held = '';
  let coloured = false;
  const show = (text: string): string =>
    text.replace(UNSAFE_OR_COLOUR, (found) => {
      if (!isColour(found)) return reveal(found) + found.slice(1);
      coloured = found !== RESET && found !== '\u001b[m';
      return found;
    });
  return {
    /** Returns the text to show for a chunk. An unfinished sequence is held back. */
    pass(chunk: Uint8Array): string {
      const text = held + decoder.write(Buffer.from(chunk));
      held = UNFINISHED.exec(text)?.[0] ?? '';
      return show(text.slice(0, text.length - held.length));
    },
    /** Returns what was held back, and resets colours that are still on. */
    end(): string {
      const rest = show(held + decoder.end());
      return coloured ? rest + RESET : rest;
    },
  };
}

/** Filters a whole text for a terminal. */
export function toVisible(text: string): string {
  const output = createVisibleOutput();
  return output.pass(Buffer.from(text)) + output.end();
}

// Text that is concealed could be taken for something else when it is copied.
function isColour(found: string): boolean {
  return found.length > 1 && !/(?:^|[[;:])0*8(?:[;:m]|$)/.test(found.replace(EXTENDED, '0'));
}
