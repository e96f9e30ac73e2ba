// Line patches: the one shape in which tools that edit text are told what to change, and how it is applied (CTX-11).

import { ToolError } from './error.js';
import type { JsonSchema } from './schema.js';
import { count, quoteOutside } from './text.js';

/** A change of some lines; numbers are those of the text before any change. */
export interface LinePatch {
  /** First line, from 1. */
  readonly start_line: number;
  /** Last line, included; 0 inserts before `start_line`. */
  readonly end_line: number;
  /** What stands there afterwards; empty deletes the lines. */
  readonly content: string;
  /** What must stand there now. */
  readonly expected?: string;
}

/** JSON Schema of one patch, for the input of every tool that edits. */
export const LinePatchSchema: JsonSchema = Object.freeze({
  type: 'object',
  properties: {
    start_line: {
      type: 'integer',
      minimum: 1,
      description: 'First line to replace, from 1; one past the last line to append',
    },
    end_line: {
      type: 'integer',
      minimum: 0,
      description: 'Last line to replace, included; 0 inserts before start_line and replaces nothing',
    },
    content: { type: 'string', description: 'The new lines; empty deletes the old ones' },
    expected: {
      type: 'string',
      description: 'The lines as they are now; where they differ, nothing is changed',
    },
  },
  required: ['start_line', 'end_line', 'content'],
  additionalProperties: false,
});

/**
 * The text with all patches applied. Line ends stay as they are, and so does a last line without one. Throws
 * `invalid_input` where a patch is out of range, overlaps another or expects something else; then none applies.
 */
export function applyLinePatches(text: string, patches: readonly LinePatch[]): string {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const spans = patches.map((patch, index) => toSpan(patch, index, lines)).sort(bySpan);
  assertApart(spans);
  const newline = lines[0]?.endsWith('\r\n') ? '\r\n' : '\n';
  const endsOpen = lines.length > 0 && !lines.at(-1)!.endsWith('\n');
  const pieces: string[] = [];
  // What comes after a last line without its end would run into it.
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
  /** Lines before it, and lines up to its end, counted from 0. */
  readonly start: number;
  readonly end: number;
  readonly added: readonly string[];
  /** Which patch it is. */
  readonly index: number;
}

function toSpan(patch: LinePatch, index: number, lines: readonly string[]): Span {
  const { start_line: first, end_line: last, content, expected } = patch;
  const inserts = last === 0;
  if (!inserts && last < first) {
    throw bad(
      index,
      `ends at line ${last}, before it begins at ${first}`,
      'end_line is the last line; 0 inserts',
    );
  }
  const most = inserts ? lines.length + 1 : lines.length;
  const beyond = inserts ? first : last;
  if (first < 1 || beyond > most) {
    throw bad(
      index,
      `names line ${beyond} of a text that has ${count(lines.length, 'line')}`,
      inserts ? `insert at a line from 1 to ${most}` : 'read it again for the numbers of its lines',
    );
  }
  const start = first - 1;
  const end = inserts ? start : last;
  if (expected !== undefined) assertExpected(expected, lines.slice(start, end).join(''), index);
  return { start, end, added: toLines(content), index };
}

// A newline at the end ends the last line and begins none, so that "\n" is one empty line and "" is no line.
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
    `expects other text than there is: "${quoteOutside(found, 200)}"`,
    'read it again, and repeat the change on what is there now',
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
      throw bad(span.index, `overlaps patch ${before.index + 1}`, 'make one patch of both');
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
