// Prints tables that fit the terminal.

import { wrapWords } from '../commands/wrap.js';
import { sanitize } from '../core/text.js';
import { printJson } from './print.js';
import type { Terminal } from './terminal.js';
import type { VerbCall } from './verb.js';

const GAP = 3;
const MIN_CELL = 12;

type Rows = readonly (readonly string[])[];

/**
 * Aligns columns and leaves out empty ones. Cells are names and texts from outside (ERR-5). On a terminal, the cells of one
 * column are shortened; a table that is still too wide is wrapped by the terminal, so that no other cell is lost (CLI-6).
 */
function formatTable(given: Rows, { outIsTerminal, columns: available }: Terminal, shrinks: number): string {
  const safe = given.map((row) => row.map((cell) => sanitize(cell).replace(/[\n\t]/g, ' ')));
  const rows = outIsTerminal ? shrinkColumn(safe, available, shrinks) : safe;
  const widths = widthsOf(rows);
  const columns = [...widths.keys()].filter((column) => widths[column] !== 0);
  const gap = ' '.repeat(GAP);
  const toLine = (row: readonly string[]): string =>
    `  ${columns.map((column) => row[column]!.padEnd(widths[column]!)).join(gap)}`.trimEnd();
  return `${rows.map(toLine).join('\n')}\n`;
}

function widthsOf(rows: Rows): number[] {
  return rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
}

function shrinkColumn(rows: Rows, available: number, shrinks: number): Rows {
  const widths = widthsOf(rows);
  const width = widths.reduce((sum, one) => sum + (one === 0 ? 0 : one + GAP), 2) - GAP;
  const room = Math.max(MIN_CELL, widths[shrinks]! - Math.max(0, width - available));
  return rows.map((row) => row.map((cell, column) => (column === shrinks ? shorten(cell, room) : cell)));
}

/** Prints a table with a dimmed head. `shrinks` is the column that is shortened on a narrow terminal. */
export function printTable(terminal: Terminal, head: readonly string[], rows: Rows, shrinks = head.length - 1): void {
  const table = formatTable([head, ...rows], terminal, shrinks);
  const end = table.indexOf('\n');
  terminal.out(terminal.paint('dim', table.slice(0, end)) + table.slice(end));
}

/** Prints what a verb lists, as a JSON document, as a table, or as `none`, and returns 0, its exit status. */
export function reportTable(
  { json, terminal }: Pick<VerbCall, 'json' | 'terminal'>,
  document: object,
  { head, rows, none, shrinks }: { head: readonly string[]; rows: Rows; none: string; shrinks?: number },
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
