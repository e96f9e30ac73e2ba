// Tests of selectors: syntax, errors and matching.

import { describe, expect } from 'vitest';
import { spec } from '../../test/support/spec.js';
import { isToolError } from './error.js';
import { parseSelectors } from './selector.js';
import { matchPattern, matchSelector, type SelectedTool } from './selector-match.js';

const tool = (name: string, tags: readonly string[] = [], builtin = false): SelectedTool => ({ name, tags, builtin });

function matches(text: string, selected: SelectedTool, input?: unknown): boolean {
  return parseSelectors(text).some((selector) => matchSelector(selector, selected, input));
}

function failure(source: string | readonly string[]) {
  try {
    parseSelectors(source);
  } catch (error) {
    if (isToolError(error)) return error;
  }
  throw new Error(`"${source}" is taken for a selector`);
}

describe('lists', () => {
  spec('SEL-1', 'matches a glob against the name, or against tags after a #', () => {
    expect(matches('file-*', tool('file-read'))).toBe(true);
    expect(matches('file-*', tool('web', ['file-read']))).toBe(false);
    expect(matches('#net*', tool('web', ['slow', 'network']))).toBe(true);
    expect(matches('#net*', tool('network'))).toBe(false);
    expect(matchSelector(parseSelectors('#a')[0]!, { name: 'a' })).toBe(false);
  });

  spec('SEL-1', 'separates lists by white space and joins arrays', () => {
    const texts = (source: string | readonly string[]) => parseSelectors(source).map(({ text }) => text);
    const expected = ['a', '#b(x=1, $deny)', '$c'];
    expect(texts(' a  #b(x=1, $deny)\n$c ')).toEqual(expected);
    expect(texts(['a #b(x=1, $deny)', '$c'])).toEqual(expected);
    expect(texts(['', ' '])).toEqual([]);
    expect(texts('')).toEqual([]);
  });

  spec('SEL-1 SEL-3', 'reports errors with one code, the column, and the number of the text in an array', () => {
    const error = failure(['a', 'b c($no)']);
    expect(error.code).toBe('invalid_definition');
    expect(error.data).toMatchObject({ column: 5, entry: 2 });
    expect(error.hint).toMatch(/\$deny/);
  });
});

describe('specifiers', () => {
  spec('SEL-2', 'does not treat the specifier as part of the glob', () => {
    const [selector] = parseSelectors('run[12](op={a,b})');
    expect(selector!.glob.pattern).toBe('run[12]');
    expect(selector!.arguments.map(({ key, glob }) => [key, glob.pattern])).toEqual([['op', '{a,b}']]);
    expect(matches('run[(](op=a)', tool('run('), { op: 'a' })).toBe(true);
  });

  spec('SEL-2', 'does not split at commas inside braces, brackets and after a backslash', () => {
    const one = (text: string) => parseSelectors(text)[0]!.arguments.map(({ key }) => key);
    expect(one('t(a={x,y},b=[,.],c=p\\,q, d = z )')).toEqual(['a', 'b', 'c', 'd']);
    const input = { a: 'y', b: ',', c: 'p,q', d: 'z' };
    expect(matches('t(a={x,y},b=[,.],c=p\\,q, d = z )', tool('t'), input)).toBe(true);
    expect(matches('t(a={x,y},b=[,.],c=p\\,q, d = z )', tool('t'), { ...input, d: 'y' })).toBe(false);
  });

  spec('SEL-2', 'matches values as globs against the string form, in which * matches everything', () => {
    const one = (pattern: string, value: unknown) => matches(`t(v=${pattern})`, tool('t'), { v: value });
    expect(one('/etc/*', '/etc/a/b\nc')).toBe(true);
    expect(one('*', '')).toBe(true);
    expect(one('git status*', 'git status -s')).toBe(true);
    expect(one('12', 12)).toBe(true);
    expect(one('true', true)).toBe(true);
    expect(one('null', null)).toBe(true);
    expect(one('*"file-read"*', ['file-read'])).toBe(true);
    expect(one('\\{"a":1,"b":2\\}'.replace(',', '\\,'), { b: 2, a: 1 })).toBe(true);
    expect(one('f\\(x\\)', 'f(x)')).toBe(true);
  });

  spec('SEL-6', 'takes a text in braces for a set of one', () => {
    const one = (pattern: string, value: unknown) => matches(`t(v=${pattern})`, tool('t'), { v: value });
    for (const text of ['team@corp.example', 'a', 'a-b_c/d', 'a.b', '12', 'ä'])
      expect([text, one(`{${text}}`, text), one(`{${text}}`, `{${text}}`), one(`{${text}}`, `${text}x`)]).toEqual([
        text,
        true,
        true,
        false,
      ]);
    for (const [pattern, value] of [
      ['{a*}', 'ab'],
      ['{*}', 'a'],
      ['x{a}', 'xa'],
      ['{a}x', 'ax'],
      ['{a}{b}', 'a}{b'],
      ['\\{a\\}', 'a'],
      ['{}', ''],
      ['{{a}}', 'a'],
    ] as const)
      expect([pattern, one(pattern, value)]).toEqual([pattern, false]);
    expect([one('{1..3}', '2'), one('{a,b}', 'b'), one('{*}', { a: 1 })]).toEqual([true, true, true]);
    expect(matches('run{a}', tool('runa'), {})).toBe(false);
  });

  spec('SEL-6', 'denies the only text of a set, whatever its characters', () => {
    const denied = (set: string, value: unknown) => matches(`t(v=${set},$deny)`, tool('t'), { v: value });
    for (const [set, text] of [
      ['{Acme Ltd}', 'Acme Ltd'],
      ['{../x}', '../x'],
      ['{a..bc}', 'a..bc'],
      ['{"q"}', '"q"'],
      ['{\\(a\\)}', '(a)'],
      ['{a\\,b}', 'a,b'],
      ['{\\*}', '*'],
      ['{\\ a\\ }', ' a '],
    ] as const)
      expect([set, denied(set, text), denied(set, `{${text}}`), denied(set, `${text}x`)]).toEqual([
        set,
        true,
        true,
        false,
      ]);
    expect(denied('{"a":1}', { a: 1 })).toBe(true);
  });

  spec('SEL-6 SEL-3', 'rejects entries of sets that would match nothing, with the column', () => {
    const columns: Record<string, number> = {
      't(v={ a})': 6,
      't(v={a })': 6,
      't(v={a, b},$deny)': 8,
      't(x=1, v={a,b ,c})': 13,
    };
    const found = Object.keys(columns).map((text) => [text, failure(text).data?.column]);
    expect(Object.fromEntries(found)).toEqual(columns);
    expect(matches('t(v=git{, *})', tool('t'), { v: 'git log' })).toBe(true);
  });

  spec('SEL-2', 'does not match missing or inherited arguments', () => {
    for (const input of [undefined, null, {}, { v: undefined }, 'v', ['v']]) {
      expect(matches('t(v=*)', tool('t'), input)).toBe(false);
    }
    expect(matches('t(constructor=*)', tool('t'), {})).toBe(false);
    expect(matches('t', tool('t'), undefined)).toBe(true);
  });

  spec('SEL-2', 'rejects invalid specifiers with the column', () => {
    const columns: Record<string, number> = {
      'a(x=1': 2,
      'a()': 3,
      'a(x=1,)': 7,
      'a(x)': 3,
      'a(=x)': 3,
      'a(x=)': 5,
      'a(x=f(y))': 6,
      'a(x=1)b': 7,
      'a)': 2,
      'a(x={b)': 5,
      'a(x=!b)': 5,
    };
    const found = Object.keys(columns).map((text) => [text, failure(text).data?.column]);
    expect(Object.fromEntries(found)).toEqual(columns);
  });
});

describe('directives', () => {
  spec('SEL-3', 'parses $deny and $policy, alone and with arguments', () => {
    const policies = parseSelectors('a b($deny) c(x=1,$policy=ask) d( $policy = allow ) e($policy=deny)');
    expect(policies.map(({ policy }) => policy)).toEqual([undefined, 'deny', 'ask', 'allow', 'deny']);
  });

  spec('SEL-3', 'rejects unknown, misplaced and second directives with the column', () => {
    const unknown = failure('a b(x=1, $denny)');
    expect(unknown.message).toContain('"$denny" at column 10');
    expect(unknown.hint).toContain('did you mean $deny?');
    const columns: Record<string, number> = {
      'a($policy)': 3,
      'a($policy=maybe)': 3,
      'a($deny=1)': 3,
      'a($deny,$policy=allow)': 9,
      'a $deny': 3,
      'a $policy=ask': 3,
    };
    const found = Object.keys(columns).map((text) => [text, failure(text).data?.column]);
    expect(Object.fromEntries(found)).toEqual(columns);
  });
});

describe('names', () => {
  spec('SEL-4', '* matches every name: namespaces, slashes, a leading dot', () => {
    for (const name of ['a', 'files:read', 'a/b', '.hidden', '..', 'a\nb', '']) {
      expect(matches('*', tool(name)), name).toBe(true);
    }
    expect(matches('files*read', tool('files:x/read'))).toBe(true);
  });

  spec('SEL-4', 'matches built-in tools only if it begins with $', () => {
    expect(matches('$context_*', tool('context_pipe', [], true))).toBe(true);
    expect(matches('$context_*', tool('context_pipe', [], false))).toBe(false);
    expect(matches('$context_*', tool('other', [], true))).toBe(false);
    expect(matches('context_*', tool('context_pipe', [], true))).toBe(true);
  });

  spec('SEL-4', 'suggests $deny for a leading !, and rejects empty patterns', () => {
    for (const text of ['!a', '#!a', '$!a']) {
      expect(failure(text).hint, text).toContain('$deny');
    }
    expect(failure('a !b').data?.column).toBe(3);
    expect(matches('\\!a', tool('!a'))).toBe(true);
    for (const [text, column] of Object.entries({ '#': 1, $: 1, '(x=1)': 1, 'a #': 3, '#(x=1)': 1, 'a(#)': 3 })) {
      expect(failure(text).message, text).toContain('an empty pattern');
      expect([text, failure(text).data?.column]).toEqual([text, column]);
    }
    expect(() => matchPattern('', 'a')).toThrow('an empty pattern');
  });
});

spec('SEL-5', 'matchPattern accepts one plain pattern only', () => {
  expect(matchPattern('a*', 'abc')).toBe(true);
  expect(matchPattern('a*', 'bc')).toBe(false);
  expect(matchPattern('#a*', 'x', ['b', 'ac'])).toBe(true);
  expect(matchPattern('#a*', 'abc')).toBe(false);
  const others = {
    'a b': 'more than one pattern',
    'a(x=1)': 'a specifier',
    'a($deny)': 'a specifier',
    $a: 'a built-in tool',
  };
  for (const [pattern, what] of Object.entries(others))
    expect(() => matchPattern(pattern, 'a'), pattern).toThrow(`${what} instead of a plain pattern at column 1`);
});
