// Tests the arguments of declared commands, for each kind of mapping.

import { describe, expect } from 'vitest';
import { declare } from '../../../test/support/commands.js';
import { finding, spec } from '../../../test/support/spec.js';
import type { Execution } from '../../core/command.js';
import type { ToolError } from '../../core/error.js';
import type { JsonObject } from '../../core/json.js';
import { readToolsDescriptor } from '../../formats/tools-json/parse.js';
import { selectExecution, selectSubcommand, splitWords, toArguments, toSlots } from './arguments.js';

type Args = Parameters<typeof declare>[0];

function executionOf(args: Args, more: Record<string, unknown> = {}): Execution {
  const { descriptor, findings } = readToolsDescriptor({
    tools: declare(args, { execution: more, allowlist: { args: ['', 'other'] } }),
  });
  expect(findings).toEqual([]);
  return descriptor!.tools[0]!.executions[0]!;
}

function build(args: Args, input: JsonObject, more: Record<string, unknown> = {}) {
  const execution = executionOf(args, more);
  const files: string[] = [];
  const built = toArguments(execution, toSlots(execution, input), (text) => `file ${files.push(text)}`);
  return { ...built, files };
}

const argv = (args: Args, input: JsonObject, more?: Record<string, unknown>) => build(args, input, more).argv;

function refusal(run: () => unknown): ToolError {
  try {
    run();
  } catch (error) {
    return error as ToolError;
  }
  throw new Error('it was not refused');
}

describe('kinds', () => {
  spec('TJS-7 TJS-10', 'passes a positional as one argument, an array as one per element', () => {
    const one = [{ param: 'a' }];
    expect(argv(one, { a: 'two words' })).toEqual(['two words']);
    expect(argv(one, { a: '' })).toEqual(['']);
    expect(argv(one, { a: 0 })).toEqual(['0']);
    expect(argv(one, { a: 1.5e300 })).toEqual(['1.5e+300']);
    expect(argv(one, { a: false })).toEqual(['false']);
    expect(argv(one, { a: ['x', 1, true, null, { k: [1] }] })).toEqual(['x', '1', 'true', '{"k":[1]}']);
    expect(argv(one, { a: [] })).toEqual([]);
    expect(argv(one, { a: { k: 'v' } })).toEqual(['{"k":"v"}']);
    expect(argv(one, {})).toEqual([]);
    expect(argv(one, { a: null })).toEqual([]);
    expect(argv([{ param: 'a', kind: 'Positional' }], { a: 'x' })).toEqual(['x']);
  });

  spec('TJS-8 TJS-10', 'passes a flag with its value, repeated for an array, omitted if missing', () => {
    const plain = [{ param: 'level', kind: 'flag' }];
    expect(argv(plain, { level: 'high' })).toEqual(['--level', 'high']);
    expect(argv(plain, { level: 3 })).toEqual(['--level', '3']);
    expect(argv(plain, { level: true })).toEqual(['--level', 'true']);
    expect(argv(plain, { level: ['a', 'b'] })).toEqual(['--level', 'a', '--level', 'b']);
    expect(argv(plain, { level: {} })).toEqual(['--level', '{}']);
    expect(argv(plain, {})).toEqual([]);
    expect(argv(plain, { level: null })).toEqual([]);
    expect(argv([{ param: 'a', kind: 'flag', flag: 'long' }], { a: 'x' })).toEqual(['--long', 'x']);
    expect(argv([{ param: 'a', kind: 'flag', flag: '-s' }], { a: 'x' })).toEqual(['-s', 'x']);
    expect(argv([{ param: 'a', kind: 'flag', flag: '--as-is' }], { a: 'x' })).toEqual(['--as-is', 'x']);
    expect(argv([{ param: 'a', kind: 'flag', flag: 'n' }], { a: 'x' })).toEqual(['-n', 'x']);
    expect(argv([{ param: 'n', kind: 'flag' }], { n: 'x' })).toEqual(['--n', 'x']);
  });

  finding('D3 TJS-8', 'uses one dash for one-letter flags in both layouts', () => {
    const { tools, allowlist, execution } = declare([{ param: 'a', kind: 'flag', flag: 'n' }]);
    const { descriptor } = readToolsDescriptor({ tools, allowlist, execution });
    const [own] = descriptor!.tools[0]!.executions;
    const built = toArguments(own!, toSlots(own!, { a: 'x' }));
    expect(built.argv).toEqual(['-n', 'x']);
  });

  spec('TJS-9', 'passes flagIfTrue or flagIfFalse verbatim', () => {
    const both = [{ param: 'on', kind: 'flagifboolean', flagIfTrue: '--yes', flagIfFalse: '-N' }];
    expect(argv(both, { on: true })).toEqual(['--yes']);
    expect(argv(both, { on: false })).toEqual(['-N']);
    expect(argv(both, {})).toEqual(['-N']);
    expect(argv(both, { on: null })).toEqual(['-N']);
    const one = [{ param: 'on', kind: 'flagifboolean', flagIfTrue: 'word' }];
    expect(argv(one, { on: true })).toEqual(['word']);
    expect(argv(one, { on: false })).toEqual([]);
    expect(argv(one, {})).toEqual([]);
    for (const on of ['true', 'TRUE', 1, -1]) expect(argv(one, { on })).toEqual(['word']);
    for (const on of ['yes', '1', 'false', 0]) expect(argv(one, { on })).toEqual([]);
  });

  spec('TJS-24', 'stdin, workingdir, tempfile and literal', () => {
    expect(build([{ param: 'a', kind: 'stdin' }], { a: '-any\n' })).toMatchObject({
      argv: [],
      stdin: '-any\n',
    });
    expect(build([{ param: 'a', kind: 'stdin' }], { a: ['x', 'y'] }).stdin).toBe('x\ny');
    expect(build([{ param: 'a', kind: 'stdin' }], {}).stdin).toBe('');
    expect(build([{ param: 'a', kind: 'workingdir' }], { a: 'sub' })).toMatchObject({
      argv: [],
      directory: 'sub',
    });
    expect(build([{ param: 'a', kind: 'workingdir' }], {}).directory).toBeUndefined();
    const file = build([{ param: 'a', kind: 'tempfile', flag: '--body' }], { a: '-text' });
    expect(file).toMatchObject({ argv: ['--body', 'file 1'], files: ['-text'] });
    expect(argv([{ param: 'a', kind: 'tempfile' }], {})).toEqual([]);
    expect(argv([{ kind: 'literal', value: '--color=never' }, { param: 'a' }], { a: 'x' })).toEqual([
      '--color=never',
      'x',
    ]);
  });

  spec('TJS-24', 'uses absentDefault for a missing value and splits at whitespace', () => {
    const fallback = [{ param: 'a', kind: 'flag', absentDefault: 10 }];
    expect(argv(fallback, {})).toEqual(['--a', '10']);
    expect(argv(fallback, { a: null })).toEqual(['--a', '10']);
    expect(argv(fallback, { a: 3 })).toEqual(['--a', '3']);
    expect(argv([{ param: 'a', split: true }], { a: '  one two\nthree ' })).toEqual(['one', 'two', 'three']);
    expect(refusal(() => argv([{ param: 'a', split: true }], { a: 'one -x' })).code).toBe('invalid_input');
  });

  spec('TJS-24', 'replaces the subcommand if an overriding boolean is true, without an argument', () => {
    const execution = executionOf([
      { param: 'all', kind: 'flagifboolean', flagIfTrue: '--all', subcommandOverride: 'other' },
      { param: 'a' },
    ]);
    const subcommand = (input: JsonObject) => selectSubcommand(execution, toSlots(execution, input));
    expect(subcommand({ all: true })).toBe('other');
    expect(subcommand({ all: false })).toBe('');
    expect(subcommand({})).toBe('');
    const built = toArguments(execution, toSlots(execution, { all: true, a: 'x' }));
    expect(built.argv).toEqual(['x']);
  });

  spec('TJS-24', 'inserts -- before a positional if an optional one before it was omitted', () => {
    const args = [
      { param: 'ref', optional: true },
      { param: 'path', disambiguateAfterSkippedPositionals: true },
    ];
    expect(argv(args, { ref: 'main', path: 'src' })).toEqual(['main', 'src']);
    expect(argv(args, { path: 'src' })).toEqual(['--', 'src']);
    expect(argv(args, { path: '-src' })).toEqual(['--', '-src']);
    expect(argv(args, { ref: 'main' })).toEqual(['main']);
  });

  spec('TJS-6', 'splits a subcommand at spaces; an empty one adds nothing', () => {
    expect(splitWords('remote  get-url')).toEqual(['remote', 'get-url']);
    expect(splitWords('')).toEqual([]);
  });

  spec('TJS-11', 'normalizeNewlines turns typed \\n and \\t into newline and tab, in strings only', () => {
    const args = [{ param: 'a', normalizeNewlines: true }];
    expect(argv(args, { a: 'one\\ntwo\\tthree\\r' })).toEqual(['one\ntwo\tthree\\r']);
    expect(argv(args, { a: ['one\\ntwo'] })).toEqual(['one\\ntwo']);
    expect(argv([{ param: 'a' }], { a: 'one\\ntwo' })).toEqual(['one\\ntwo']);
  });
});

describe('rejected values', () => {
  spec(
    'TJS-12',
    'rejects a positional that starts with a dash, also in an array, after splitting or as a number',
    () => {
      for (const a of ['-c', '--output=/x', '-', '--', ['ok', '-x'], -5]) {
        const error = refusal(() => argv([{ param: 'a' }], { a }));
        expect(error).toMatchObject({ code: 'invalid_input', data: { faults: [{ path: '/a' }] } });
        expect(error.hint).toContain('allowDash');
      }
      expect(argv([{ param: 'a', allowDash: true }], { a: '-c' })).toEqual(['-c']);
      expect(argv([{ param: 'a' }], { a: 'a-b' })).toEqual(['a-b']);
    },
  );

  spec('TJS-12 TJS-8', 'joins it to a flag with two dashes, and rejects it after one dash', () => {
    const long = [{ param: 'a', kind: 'flag' }];
    expect(argv(long, { a: '-x' })).toEqual(['--a=-x']);
    expect(argv(long, { a: -5 })).toEqual(['--a=-5']);
    expect(argv(long, { a: ['x', '--y'] })).toEqual(['--a', 'x', '--a=--y']);
    expect(argv([{ ...long[0], allowDash: true }], { a: '-x' })).toEqual(['--a', '-x']);
    const short = [{ param: 'a', kind: 'flag', flag: '-s' }];
    expect(refusal(() => argv(short, { a: '-x' })).code).toBe('invalid_input');
    expect(argv([{ ...short[0], allowDash: true }], { a: '-x' })).toEqual(['-s', '-x']);
  });

  spec('TJS-12', 'inserts -- once before the first positional with endOfOptions, then accepts any value', () => {
    const args = [{ param: 'f', kind: 'flag' }, { param: 'a', optional: true }, { param: 'b' }];
    const end = { endOfOptions: true };
    expect(argv(args, { f: 'v', a: '-x', b: '--y' }, end)).toEqual(['--f', 'v', '--', '-x', '--y']);
    expect(argv(args, { b: 'y' }, end)).toEqual(['--', 'y']);
    expect(argv(args, { f: 'v' }, end)).toEqual(['--f', 'v']);
  });

  spec('TJS-13', 'rejects NUL in arguments and in the directory', () => {
    for (const kind of ['positional', 'flag', 'workingdir']) {
      expect(refusal(() => argv([{ param: 'a', kind }], { a: 'x\0y' }))).toMatchObject({
        code: 'invalid_input',
        hint: expect.stringMatching(/./),
      });
    }
    expect(refusal(() => argv([{ param: 'a', allowDash: true }], { a: ['x', '\0'] })).code).toBe('invalid_input');
    expect(refusal(() => argv([{ param: 'a' }], { a: '\0' }, { endOfOptions: true })).code).toBe('invalid_input');
  });
});

describe('several executions', () => {
  const when = (present: string[], absent: string[] = []) =>
    executionOf([{ param: 'a' }, { param: 'b' }], { paramCondition: { present, absent } });
  const select = (executions: Execution[], input: JsonObject) => selectExecution(executions, input, 'run');

  spec('TJS-24', 'selects the one that matches, before the one without a condition', () => {
    const [a, b, otherwise] = [when(['a'], ['b']), when(['b'], ['a']), executionOf([{ param: 'a' }])];
    expect(select([a, b, otherwise], { a: 1 })).toBe(a);
    expect(select([otherwise, a, b], { b: 1, a: null })).toBe(b);
    expect(select([a, b, otherwise], { a: 1, b: 1 })).toBe(otherwise);
    expect(select([a, b, otherwise], {})).toBe(otherwise);
  });

  spec('TJS-24', 'rejects input that matches several or none, with a hint', () => {
    const several = refusal(() => select([when(['a']), when(['b'])], { a: 1, b: 1 }));
    expect(several).toMatchObject({ code: 'invalid_input', hint: 'use only one of a, b' });
    const none = refusal(() => select([when(['a']), when(['b'])], {}));
    expect(none).toMatchObject({ code: 'invalid_input', hint: 'use a, or b' });
    expect(refusal(() => select([when([], ['a'])], { a: 1 })).hint).toBe('remove some parameters');
  });
});
