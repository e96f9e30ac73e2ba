import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { rounds } from '../../test/support/effort.js';
import { spec } from '../../test/support/spec.js';
import { applyLinePatches, type LinePatch, LinePatchSchema } from './line-patch.js';

const TEXT = 'one\ntwo\nthree\nfour\n';
const patch = (start_line: number, end_line: number, content: string, expected?: string): LinePatch => ({
  start_line,
  end_line,
  content,
  ...(expected === undefined ? {} : { expected }),
});

function refusal(text: string, patches: readonly LinePatch[]): unknown {
  try {
    return applyLinePatches(text, patches);
  } catch (error) {
    return error;
  }
}

describe('line patches', () => {
  for (const [what, patches, after] of [
    ['a range is replaced', [patch(2, 3, 'zwei')], 'one\nzwei\nfour\n'],
    ['a final newline begins no line', [patch(2, 2, 'zwei\n')], 'one\nzwei\nthree\nfour\n'],
    ['an empty line is a newline', [patch(2, 2, '\n')], 'one\n\nthree\nfour\n'],
    ['empty content deletes', [patch(2, 3, '')], 'one\nfour\n'],
    ['all can be deleted', [patch(1, 4, '')], ''],
    ['end_line 0 inserts before', [patch(2, 0, 'new')], 'one\nnew\ntwo\nthree\nfour\n'],
    ['and past the end appends', [patch(5, 0, 'five\nsix')], 'one\ntwo\nthree\nfour\nfive\nsix\n'],
    [
      'numbers are those before any change, in any order',
      [patch(4, 4, 'vier'), patch(1, 2, ''), patch(3, 0, 'between')],
      'between\nthree\nvier\n',
    ],
    ['insertions at one place keep their order', [patch(1, 0, 'a'), patch(1, 0, 'b')], `a\nb\n${TEXT}`],
    ['what is expected and there is fine', [patch(2, 3, 'x', 'two\nthree')], 'one\nx\nfour\n'],
    ['with or without its last newline', [patch(2, 3, 'x', 'two\nthree\n')], 'one\nx\nfour\n'],
  ] as const) {
    spec('CTX-11', what, () => {
      expect(applyLinePatches(TEXT, patches)).toBe(after);
    });
  }

  spec('CTX-11', 'preserves line endings and a missing final newline', () => {
    expect(applyLinePatches('a\r\nb\r\nc\r\n', [patch(2, 2, 'x\ny')])).toBe('a\r\nx\r\ny\r\nc\r\n');
    expect(applyLinePatches('a\nb', [patch(2, 2, 'x')])).toBe('a\nx');
    expect(applyLinePatches('a\nb', [patch(3, 0, 'c')])).toBe('a\nb\nc');
    expect(applyLinePatches('a\nb', [patch(2, 2, '')])).toBe('a');
    expect(applyLinePatches('a\r\nb', [patch(3, 0, 'c')])).toBe('a\r\nb\r\nc');
    expect(applyLinePatches('', [patch(1, 0, 'first')])).toBe('first\n');
  });

  for (const [what, patches, message] of [
    ['a line past the end', [patch(4, 5, 'x')], /line 5, but the text has 4 lines/],
    ['an insertion past the end', [patch(6, 0, 'x')], /line 6/],
    ['a reversed range', [patch(3, 2, 'x')], /before it starts/],
    ['a line before the first', [patch(0, 1, 'x')], /refers to line/],
    ['ranges that overlap', [patch(1, 3, 'x'), patch(3, 4, 'y')], /overlaps patch 1/],
    ['a range within another', [patch(1, 4, 'x'), patch(2, 2, 'y')], /overlaps patch 1/],
    ['an insertion into a range', [patch(2, 0, 'y'), patch(1, 3, 'x')], /overlaps/],
    ['the same range twice', [patch(2, 2, 'x'), patch(2, 2, 'y')], /overlaps patch 1/],
    ['other text than expected', [patch(2, 2, 'x', 'zwei')], /expects different text; found "two"/],
  ] as const) {
    spec('CTX-11', `rejects ${what}`, () => {
      const error = refusal(TEXT, patches);
      expect(error).toMatchObject({ code: 'invalid_input', message: expect.stringMatching(message) });
      expect((error as { hint: string }).hint).toMatch(/\S/);
    });
  }

  const line = fc.string({ maxLength: 5 }).map((text) => text.replace(/[\r\n]/g, ' '));
  const document = fc.record({
    lines: fc.array(line, { maxLength: 12 }),
    newline: fc.constantFrom('\n', '\r\n'),
    ends: fc.boolean(),
  });
  const wanted = fc.array(
    fc.record({ start: fc.nat(13), length: fc.nat(4), lines: fc.array(line, { maxLength: 3 }) }),
    { minLength: 1, maxLength: 4 },
  );

  spec('CTX-11', 'equals splicing an array of lines from the bottom up, or changes nothing', () => {
    fc.assert(
      fc.property(document, wanted, ({ lines, newline, ends }, changes) => {
        // A last line that is empty and unended is no line.
        fc.pre(ends || lines.length === 0 || lines.at(-1) !== '');
        const text = lines.join(newline) + (ends && lines.length > 0 ? newline : '');
        const patches = changes.map(({ start, length, lines: added }) =>
          patch(start + 1, length === 0 ? 0 : start + length, added.map((one) => `${one}\n`).join('')),
        );
        const outside = changes.some(({ start, length }) => start + length > lines.length);
        const overlap = changes.some((a, i) =>
          changes.some(
            (b, j) =>
              i !== j && a.start <= b.start && b.start < a.start + a.length && !(a.start === b.start && b.length === 0),
          ),
        );
        if (outside || overlap) {
          expect(refusal(text, patches)).toMatchObject({ code: 'invalid_input' });
          return;
        }
        const expected = [...lines];
        const order = changes.map((change, index) => ({ ...change, index }));
        // From the bottom; of those that begin at one place the replacement first, then the insertions, last first.
        order.sort((a, b) => b.start - a.start || Math.sign(b.length) - Math.sign(a.length) || b.index - a.index);
        for (const { start, length, lines: added } of order) expected.splice(start, length, ...added);
        const ended = lines.length === 0 || ends;
        const joined = expected.join(newline) + (ended && expected.length > 0 ? newline : '');
        const eol = lines.length < 2 && !ends ? '\n' : newline;
        expect(applyLinePatches(text, patches)).toBe(
          lines.length === 0 || eol === '\n' ? joined.replaceAll('\r\n', '\n') : joined,
        );
      }),
      { numRuns: rounds(150, 2000) },
    );
  });

  spec('CTX-11', 'describes every field in the schema', () => {
    const properties = LinePatchSchema.properties as Record<string, { description: string }>;
    expect(Object.keys(properties)).toEqual(['start_line', 'end_line', 'content', 'expected']);
    for (const { description } of Object.values(properties)) expect(description).toMatch(/\S/);
  });
});
