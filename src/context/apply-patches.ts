// Applies line patches to a text (CTX-11).

import { ToolError } from '../core/error.js';
import { count, quoteOutside } from '../core/text.js';
import type { LinePatch } from './line-patch.js';

/**
 * Applies all patches. Line endings are preserved, and so is a last line without one. Throws `invalid_input` and
 * applies none if a patch is out of range, overlaps another or expects different text.
 */
export function applyLinePatches(text: string, patches: readonly LinePatch[]): string {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const spans = patches.map((patch, index) => toSpan(patch, index, lines)).sort(bySpan);
  assertApart(spans);
  const newline = lines[0]?.endsWith('\r\n') ? '\r\n' : '\n';
  const endsOpen = lines.length > 0 && !lines.at(-1)!.endsWith('\n');
  const pieces: string[] = [];
  // A last line without a line ending gets one before text is added.
  const push = (line: string): void => {
    if (pieces.length > 0 && !pieces.at(-1)!.endsWith('\n')) pieces[pieces.length - 1] += newline;
    pieces.push(line);
  };
  let at = 0;
  for (const { start, end, added } of spans) {
    while (at < start) push(lines[at++]!);
    for (const line of added) push(line + newline);
    at = Math.max(at, end);
  }
  while (at < lines.length) push(lines[at++]!);
  const patched = pieces.join('');
  return endsOpen ? patched.replace(/\r?\n$/, '') : patched;
}

interface Span {
  /** Line numbers from 0; the end is exclusive. */
  readonly start: number;
  readonly end: number;
  readonly added: readonly string[];
  /** Index of the patch. */
  readonly index: number;
}

function toSpan(patch: LinePatch, index: number, lines: readonly string[]): Span {
  const { start_line: first, end_line: last, content, expected } = patch;
  const inserts = last === 0;
  if (!inserts && last < first) {
    throw bad(index, `ends at line ${last}, before it starts at line ${first}`, 'end_line is the last line; 0 inserts');
  }
  const most = inserts ? lines.length + 1 : lines.length;
  const beyond = inserts ? first : last;
  if (first < 1 || beyond > most) {
    throw bad(
      index,
      `refers to line ${beyond}, but the text has ${count(lines.length, 'line')}`,
      inserts ? `insert at a line from 1 to ${most}` : 'read the text again to get current line numbers',
    );
  }
  const start = first - 1;
  const end = inserts ? start : last;
  if (expected !== undefined) assertExpected(expected, lines.slice(start, end).join(''), index);
  return { start, end, added: toLines(content), index };
}

// A final newline ends the last line: "\n" is one empty line, and "" is none.
function toLines(content: string): readonly string[] {
  return content === '' ? [] : plain(content).split('\n');
}

function plain(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(/\n$/, '');
}

function assertExpected(expected: string, found: string, index: number): void {
  if (plain(expected) === plain(found)) return;
  throw bad(
    index,
    `expects different text; found "${quoteOutside(found, 200)}"`,
    'read the text again and retry with the current lines',
  );
}

function bySpan(a: Span, b: Span): number {
  return a.start - b.start || a.end - b.end || a.index - b.index;
}

// An insertion right before or after a range is beside it, not in it.
function assertApart(spans: readonly Span[]): void {
  let before: Span | undefined;
  for (const span of spans) {
    if (before !== undefined && span.start < before.end) {
      throw bad(span.index, `overlaps patch ${before.index + 1}`, 'combine them into one patch');
    }
    if (before === undefined || span.end > before.end) before = span;
  }
}

function bad(index: number, problem: string, hint: string): ToolError {
  return new ToolError('invalid_input', `patch ${index + 1} ${problem}; nothing was changed`, {
    hint,
    data: { patch: index },
  });
}
