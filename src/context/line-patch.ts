// Line patches: the common format of edits to text, and how they are applied (CTX-11).

import type { core } from 'zod';
import { ToolError } from '../core/error.js';
import type { JsonSchema } from '../core/schema.js';
import { count, quoteOutside } from '../core/text.js';

/** A change of lines; line numbers refer to the text before any change. */
export interface LinePatch {
  /** First line, from 1. */
  readonly start_line: number;
  /** Last line, inclusive; 0 inserts before `start_line`. */
  readonly end_line: number;
  /** The new lines; empty deletes the lines. */
  readonly content: string;
  /** The lines as they must be now. */
  readonly expected?: string;
}

const JSON_SCHEMA = {
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
    expected: { type: 'string', description: 'The lines as they are now; where they differ, nothing is changed' },
  },
  required: ['start_line', 'end_line', 'content'],
  additionalProperties: false,
} as const satisfies JsonSchema;

/**
 * Schema of one patch, for the input of tools that edit text: a JSON Schema that can also be used inside a Zod schema,
 * as in `z.array(LinePatchSchema)`.
 */
export const LinePatchSchema: typeof JSON_SCHEMA & core.$ZodType<LinePatch, LinePatch> = Object.freeze(
  Object.defineProperties({ ...JSON_SCHEMA }, { _zod: { get: () => toZod()._zod } }),
) as never;

let zod: core.$ZodType | undefined;

// Zod is loaded on first use: few programs put it into a schema of Zod.
function toZod(): core.$ZodType {
  if (zod === undefined) {
    const { createRequire } = process.getBuiltinModule('node:module');
    const { z } = createRequire(import.meta.url)('zod') as typeof import('zod');
    const { start_line: start, end_line: end, content, expected } = JSON_SCHEMA.properties;
    zod = z.strictObject({
      start_line: z.int().min(start.minimum).describe(start.description),
      end_line: z.int().min(end.minimum).describe(end.description),
      content: z.string().describe(content.description),
      expected: z.string().describe(expected.description).optional(),
    });
  }
  return zod;
}

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
