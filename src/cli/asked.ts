// What a shell asks to complete, and the answer that is printed for it.

import { type Completion, matching } from '../commands/complete.js';
import type { Io } from './io.js';
import { formatAnswer, isShell, type Line, splitLine } from './shells.js';

export interface Asked {
  /** The words before the one at the cursor. */
  readonly words: readonly string[];
  readonly current: string;
  /** The line of bash, which passes it whole. */
  readonly line: Line | undefined;
}

/** Parses the arguments after `__complete`; returns undefined for an unknown shell. */
export function parseAsked([shell, ...rest]: readonly string[]): Asked | undefined {
  if (!isShell(shell)) return undefined;
  if (shell !== 'bash') return { words: rest.slice(1, -1), current: rest.at(-1) ?? '', line: undefined };
  const line = splitLine(rest[0] ?? '', rest[1] ?? '');
  return { words: afterProgram(line.words), current: line.current, line };
}

// Skips variables that are set before the program.
function afterProgram(words: readonly string[]): readonly string[] {
  return words.slice(words.findIndex((word) => !/^\w+=/.test(word)) + 1);
}

/** Whether a begun word only filters: not a flag, and not a file after `@`. */
export function isPlain(current: string): boolean {
  return !/^[-@]/.test(current);
}

export function printAnswer({ current, line }: Asked, completion: Completion, io: Io): void {
  const { candidates, files } = matching(completion, current);
  // Only bash completes files after `--path=`.
  const found = { candidates, files: files && (line !== undefined || !current.startsWith('-')) };
  io.stdout.write(formatAnswer(found, line));
}
