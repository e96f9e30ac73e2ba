// Gate: every row of the page on selectors is true.

import { describe, expect, test } from 'vitest';
import { isToolError } from '../../src/core/error.js';
import { matchPattern, matchSelector, parseSelectors, type SelectedTool } from '../../src/helpers.js';
import { findRows, findSection, readDocument } from '../support/documents.js';

const page = readDocument('docs/reference/selectors.md');
const rows = (heading: string) => findRows(findSection(page, heading));
// A cell with one code has lost its backticks, one with several has not.
const codes = (cell: string): string[] =>
  cell === '' ? [] : cell.includes('`') ? [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]!) : [cell];

function readCall(text: string): { tool: SelectedTool; input: unknown } {
  const [, mark, name = '', tags = '', input] = /^(\$?)([^#\s]+)((?:#[^#\s]+)*)(?: (.*))?$/.exec(text)!;
  return {
    tool: { name, tags: tags.split('#').slice(1), builtin: mark === '$' },
    input: input === undefined ? undefined : JSON.parse(input),
  };
}

describe('what matches', () => {
  test('there are rows, and each has something that matches', () => {
    expect(rows('What matches').length).toBeGreaterThan(20);
    for (const [selector, matching = ''] of rows('What matches')) {
      expect(codes(matching).length, selector).toBeGreaterThan(0);
    }
  });

  for (const [text = '', matching = '', others = ''] of rows('What matches')) {
    test(text, () => {
      const selectors = parseSelectors(text);
      expect(selectors).toHaveLength(1);
      const plain = !text.includes('(') && !text.startsWith('$');
      for (const [list, expected] of [
        [codes(matching), true],
        [codes(others), false],
      ] as const) {
        for (const call of list) {
          const { tool, input } = readCall(call);
          expect(matchSelector(selectors[0]!, tool, input), call).toBe(expected);
          if (plain) expect(matchPattern(text, tool.name, tool.tags), call).toBe(expected);
        }
      }
    });
  }
});

test('directives give the policy of their row', () => {
  const found = rows('Directives').map(([text = '']) => [text, parseSelectors(text)[0]?.policy ?? '']);
  expect(found).toEqual(rows('Directives'));
  expect(found.length).toBeGreaterThan(4);
});

test('errors have the column and text of their row', () => {
  const found = rows('Errors').map(([text = '']) => {
    try {
      parseSelectors(text);
      return [text, 'no error', ''];
    } catch (error) {
      if (!isToolError(error) || error.code !== 'invalid_definition') throw error;
      return [text, String(error.data?.column), error.message.split(' at column ')[0]];
    }
  });
  expect(found).toEqual(rows('Errors'));
  expect(found.length).toBeGreaterThan(10);
});
