// Prints tables that fit the terminal.

import { wrapWords } from '../commands/wrap.js';
import { sanitize } from '../core/text.js';
import { printJson } from './print.js';
import type { Terminal } from './terminal.js';
import type { VerbCall } from './verb.js';

const GAP = 3;
const MIN_CELL = 12;

/**
 * Aligns columns and leaves out empty ones. On a terminal only the cells of the `shrinks` column are shortened, by default the last; a table that
 * is still too wide is wrapped by the terminal, so that no other cell is lost (CLI-6).
 */
function formatTable(rows: readonly (readonly string[])[], terminal: Terminal, shrinks: number): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  if (terminal.outIsTerminal) {
    const width = widths.reduce((sum, one) => sum + (one === 0 ? 0 : one + GAP), 2) - GAP;
    const room = widths[shrinks]! - Math.max(0, width - terminal.columns);
    widths[shrinks] = Math.min(widths[shrinks]!, Math.max(MIN_CELL, room));
  }
  const columns = [...widths.keys()].filter((column) => widths[column] !== 0);
  const lines = rows.map((row) => {
    const cells = columns.map((column) => shorten(row[column]!, widths[column]!).padEnd(widths[column]!));
    return `  ${cells.join(' '.repeat(GAP))}`.trimEnd();
  });
  return `${lines.join('\n')}\n`;
}

/** Prints a table with a dimmed head. `shrinks` is the column that is shortened on a narrow terminal. */
export function printTable(
  terminal: Terminal,
  head: readonly string[],
  rows: readonly (readonly string[])[],
  shrinks = head.length - 1,
): void {
  const table = formatTable([head, ...rows], terminal, shrinks);
  const end = table.indexOf('\n');
  terminal.out(terminal.paint('dim', table.slice(0, end)) + table.slice(end));
}

interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Said in place of a table without rows. */
  readonly none: string;
  readonly shrinks?: number;
}

/** Prints what a verb lists, as a JSON document or as a table, and returns 0, its exit status. */
export function reportTable(
  { json, terminal }: Pick<VerbCall, 'json' | 'terminal'>,
  document: object,
  { head, rows, none, shrinks }: Table,
): 0 {
  if (json) return printJson(terminal, { ok: true, ...document });
  if (rows.length === 0) terminal.out(`${none}\n`);
  else printTable(terminal, head, rows, shrinks);
  return 0;
}

const MAX_LINE = 72;
const SENTENCE_END = /(?<=[.!?:])\n|\n(?=\s*(\n|[-*#]|\d))/;

/** Returns the first sentence of a description, cut if it is long. */
export function oneLine(description: string): string {
  // A sentence can continue on the next line; a blank line or a list ends it.
  const [first] = sanitize(description).trim().split(SENTENCE_END, 1);
  return shorten(first!.replace(/\s+/g, ' '), MAX_LINE);
}

// Cuts between characters, not inside one of two code units.
function shorten(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = /[\ud800-\udbff]/.test(text[limit - 2]!) ? limit - 2 : limit - 1;
  return `${text.slice(0, end).trimEnd()}…`;
}

/** Breaks text at the width of a terminal; further lines begin at `column`. Elsewhere the text is unchanged. */
export function hang({ outIsTerminal, columns }: Terminal, text: string, column: number): string {
  const room = columns - column;
  if (!outIsTerminal || room < 20) return text;
  return wrapWords(text.split(' '), room).join(`\n${' '.repeat(column)}`);
}
