// Progress lines on stderr (SCR-23): reported, and removed from the output.

import type { Progress, ProgressListener } from '../../core/context.js';
import { sanitize } from '../../core/text.js';

const PREFIX = '::progress ';
const LINE = /^::progress\s+(\d+(?:\.\d+)?)(?:\/(\d+(?:\.\d+)?))?(?:\s+(.*))?$/s;
// An unfinished line that may be progress is passed on at this length.
const MAX_HELD = 4096;

export interface ProgressFilter {
  /** Returns the chunk without progress lines. An unfinished line that may be progress is held back. */
  pass(chunk: Buffer): Buffer;
  /** Returns what was held back at the end of the stream. */
  rest(): Buffer;
}

export function createProgressFilter(listener: ProgressListener): ProgressFilter {
  let held: Buffer = Buffer.alloc(0);
  let lineBegun = false;
  return {
    pass(chunk) {
      const bytes = held.length > 0 ? Buffer.concat([held, chunk]) : chunk;
      held = Buffer.alloc(0);
      const kept: Buffer[] = [];
      for (let at = 0; at < bytes.length; ) {
        const newline = bytes.indexOf(0x0a, at);
        const line = bytes.subarray(at, newline === -1 ? bytes.length : newline + 1);
        at += line.length;
        if (lineBegun || !couldBeProgress(line)) {
          kept.push(line);
          lineBegun = newline === -1;
        } else if (newline === -1) {
          held = line;
        } else {
          const progress = parseProgress(line.toString('utf8'));
          if (progress) listener(progress);
          else kept.push(line);
        }
      }
      return kept.length === 1 ? kept[0]! : Buffer.concat(kept);
    },
    rest() {
      const progress = parseProgress(held.toString('utf8'));
      if (!progress) return held;
      listener(progress);
      return Buffer.alloc(0);
    },
  };
}

function couldBeProgress(line: Buffer): boolean {
  if (line.length > MAX_HELD) return false;
  const start = line.toString('latin1', 0, PREFIX.length);
  return PREFIX.startsWith(start) || start === PREFIX;
}

function parseProgress(line: string): Progress | undefined {
  const match = LINE.exec(line.trimEnd());
  if (!match) return undefined;
  const message = sanitize(match[3] ?? '').trim();
  return {
    done: Number(match[1]),
    total: match[2] === undefined ? undefined : Number(match[2]),
    message: message || undefined,
  };
}
