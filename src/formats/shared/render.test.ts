// Tests of rendering the texts of skills.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { patience } from '../../../test/support/patience.js';
import { spec } from '../../../test/support/spec.js';
import { findReferences, renderText } from './render.js';

const refer = ({ kind, ref }: { kind: string; ref: string }) =>
  ref === 'gone' ? undefined : { name: ref, line: `a ${kind}` };

describe('placeholders', () => {
  const values = new Map<string, never>(
    Object.entries({ city: 'Oslo', days: 3, list: ['a', 1], none: undefined, 'odd-name': 'x' }) as never,
  );

  spec('SKL-3', 'replaces placeholders of declared parameters only', () => {
    for (const [text, rendered] of [
      ['To {{args.city}}!', 'To Oslo!'],
      ['{{ args.city }}{{args.days}}', 'Oslo3'],
      ['{{args.list}} {{args.none}}|{{args.odd-name}}', '["a",1] |x'],
      ['`{{args.city}}`\n```\n{{args.city}}\n```', '`Oslo`\n```\nOslo\n```'],
      ['{{city}} {{ city }} {{args.other}} {{args}} {{args.city.x}}', undefined],
      ['$(args.city) {args.city} {{{args.city}}', '$(args.city) {args.city} {Oslo'],
      ['{{#each args.city}} {{> args.city}} {%args.city%}', undefined],
      ['{{args.toString}} {{args.__proto__}} {{args.constructor}}', undefined],
    ] as const) {
      expect(renderText(text, { values }), text).toBe(rendered ?? text);
    }
  });

  spec('SKL-3', 'does not render values again', () => {
    const given = new Map([
      ['a', '{{args.b}} :tool[secret] $& $1'],
      ['b', 'B'],
    ]);
    expect(renderText('{{args.a}}-{{args.b}}', { values: given, refer })).toBe('{{args.b}} :tool[secret] $& $1-B');
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (before, value, after) => {
        const text = `${before.replaceAll(/[{:]/g, '')}{{args.a}}${after.replaceAll(/[{:]/g, '')}`;
        const expected = `${before.replaceAll(/[{:]/g, '')}${value}${after.replaceAll(/[{:]/g, '')}`;
        expect(renderText(text, { values: new Map([['a', value]]), refer })).toBe(expected);
      }),
    );
  });

  test('returns text without marks unchanged', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('{{', '}}', 'args', '.', ':', '[', ']', '`', '\n', ' ', 'x', '~~~')),
        (parts) => {
          const text = parts.join('');
          expect(renderText(text, { values: new Map(), refer: () => undefined })).toBe(text);
        },
      ),
    );
  });
});

describe('references', () => {
  spec('SKL-5', 'become a name and a line, outside of code only', () => {
    for (const [text, rendered] of [
      ['Use :tool[search] first.', 'Use `search` (a tool) first.'],
      [':skill[notes], then :tool[ a:b ].', '`notes` (a skill), then `a:b` (a tool).'],
      ['Use :tool[gone].', undefined],
      ['`:tool[search]` and ``a ` :tool[search]``', undefined],
      ['```\n:tool[search]\n```\n:tool[x]', '```\n:tool[search]\n```\n`x` (a tool)'],
      ['~~~md\n```\n:tool[search]\n~~~\n:tool[x]', '~~~md\n```\n:tool[search]\n~~~\n`x` (a tool)'],
      ['  - a\n    ```sh\n    :tool[search]\n    ```\n', undefined],
      ['````\n```\n:tool[search]\n````', undefined],
      ['```\n:tool[search] in a fence that stays open', undefined],
      ['a ` b :tool[x]\n\nc ` d', 'a ` b `x` (a tool)\n\nc ` d'],
      ['\\:tool[x] ::tool[x] a:tool[x] :tool[] :tools[x] :tool(x)', undefined],
      [':tool[x\ny]', undefined],
    ] as const) {
      expect(renderText(text, { refer }), text).toBe(rendered ?? text);
    }
  });

  spec('SKL-5', 'as blocks become a separate line; other blocks stay', () => {
    for (const [text, rendered] of [
      [':::tool{ref="search"}\n:::\nEnd', '`search`: a tool\nEnd'],
      [":::skill{ref='notes' title=x}\nRead it.\n:::\nEnd", '`notes`: a skill\nRead it.\nEnd'],
      [':::tool{ref=search}\r\nmore\r\n:::\r\nEnd\r\n', '`search`: a tool\r\nmore\r\nEnd\r\n'],
      [':::tool{ref="gone"}\n:::\n', undefined],
      [':::tool{name=search}\n:::\n', '`name=search`: a tool\n'],
      [':::note{ref="search"}\n:::\n', undefined],
      [':::note\n:::tool{ref="search"}\nx\n:::\ny\n:::\n', ':::note\n`search`: a tool\nx\ny\n:::\n'],
      ['```\n:::tool{ref="search"}\n:::\n```\n', undefined],
      ['a :::tool{ref="search"}', undefined],
    ] as const) {
      expect(renderText(text, { refer }), text).toBe(rendered ?? text);
    }
  });

  test('are found as they are rendered, without duplicates', () => {
    expect(findReferences(':tool[a] `:tool[b]` :skill[a] :tool[a]\n:::tool{ref="c"}\n:::\n:::note\n:::\n')).toEqual([
      { kind: 'tool', ref: 'a' },
      { kind: 'skill', ref: 'a' },
      { kind: 'tool', ref: 'c' },
    ]);
  });

  test('takes linear time for unclosed marks', () => {
    const began = performance.now();
    for (const part of ['`', '``` ', ':tool[', '{{args.', ':::tool{', '\n:::', '`` `\n', '~~~\n']) {
      renderText(`:tool[x]${part.repeat(200_000)}`, { values: new Map(), refer });
    }
    expect(performance.now() - began).toBeLessThan(patience(20_000));
  });
});
