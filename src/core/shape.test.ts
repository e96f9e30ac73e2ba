// Shapes: values are returned with their types, faults with their paths.

import { describe, expect, test } from 'vitest';
import { toPointer } from './json.js';
import {
  boolean,
  checked,
  converted,
  custom,
  described,
  either,
  formatFault,
  integer,
  list,
  matches,
  nullable,
  object,
  oneOf,
  optional,
  readShape,
  record,
  string,
  strings,
  tagged,
  text,
} from './shape.js';

const SERVER = object({ command: text(), args: optional(list(string)), disabled: optional(boolean) });
const FILE = object({ servers: record(SERVER) });

const faultsOf = (shape: Parameters<typeof readShape>[0], value: unknown): string[] =>
  readShape(shape, value).faults.map(formatFault);

describe('objects', () => {
  test('returns a value that matches, with its type', () => {
    const { value, faults } = readShape(FILE, { servers: { one: { command: 'x', args: ['a'] } } });
    expect(faults).toEqual([]);
    const args: readonly string[] | undefined = value?.servers.one?.args;
    expect(args).toEqual(['a']);
  });

  test('names the path, what is expected and what was found', () => {
    const file = { servers: { github: { command: 'x', args: ['a', 'b', 3] } } };
    expect(faultsOf(FILE, file)).toEqual(['servers.github.args[2] must be a string, got the number 3']);
    expect(faultsOf(FILE, [])).toEqual(['it must be an object, got an array']);
    expect(readShape(FILE, file).faults.map(({ path }) => toPointer(path))).toEqual(['/servers/github/args/2']);
  });

  test('describes itself, and leaves faults of its parts as they are', () => {
    const command = described(object({ cmd: list(string) }), 'a command');
    expect(faultsOf(command, 'ls')).toEqual(['it must be a command, got a string']);
    expect(faultsOf(command, { cmd: 'ls' })).toEqual(['cmd must be an array, got a string']);
  });

  test('does not repeat a string, which may be a secret', () => {
    expect(faultsOf(object({ a: integer() }), { a: 'sk-1234' })).toEqual([
      'a must be an integer of 0 or more, got a string',
    ]);
  });

  test('reports missing and unknown keys, with the similar key', () => {
    const { value, faults } = readShape(SERVER, { comand: 'x', zzz: 1 });
    expect(value).toBeUndefined();
    expect(faults.map((fault) => [formatFault(fault), fault.hint])).toEqual([
      ['unknown key "comand"', 'did you mean "command"?'],
      ['unknown key "zzz"', 'known keys: command, args, disabled'],
      ['command is missing', 'add it: a non-empty string'],
    ]);
  });

  test('drops or keeps unknown keys', () => {
    const given = { a: 'x', b: 1 };
    expect(readShape(object({ a: string }, { unknown: 'drop' }), given)).toEqual({ value: { a: 'x' }, faults: [] });
    expect(readShape(object({ a: string }, { unknown: 'keep' }), given)).toEqual({ value: given, faults: [] });
  });

  test('omits invalid optional keys and items, and returns the rest', () => {
    const { value, faults } = readShape(SERVER, { command: 'x', args: ['a', 1], disabled: 'no' });
    expect(value).toEqual({ command: 'x', args: ['a'] });
    expect(faults).toHaveLength(2);
  });

  test('null is missing only if the shape says so', () => {
    const fields = { a: optional(string), b: optional(nullable(string)) };
    expect(faultsOf(object(fields), { a: null, b: null })).toEqual(['a must be a string, got null']);
    expect(readShape(object(fields, { nullIsMissing: true }), { a: null, b: null }).value).toEqual({});
    expect(readShape(object({ b: nullable(string) }), { b: null }).value).toEqual({ b: null });
  });

  test('inherited keys do not count, and __proto__ is a key like others', () => {
    expect(faultsOf(object({ constructor: string }), {})).toEqual(['constructor is missing']);
    const { value } = readShape(record(string), JSON.parse('{ "__proto__": "x" }'));
    expect(Object.entries(value!)).toEqual([['__proto__', 'x']]);
    expect(faultsOf(SERVER, JSON.parse('{ "command": "x", "__proto__": {} }'))).toEqual(['unknown key "__proto__"']);
  });
});

describe('alternatives', () => {
  const OPTION = tagged('use', {
    retry: object({ use: oneOf('retry'), attempts: integer(1) }),
    cache: object({ use: oneOf('cache'), 'max-age': optional(string) }),
  });

  test('a tag selects the shape', () => {
    expect(readShape(OPTION, { use: 'cache' }).value).toEqual({ use: 'cache' });
    expect(faultsOf(OPTION, { use: 'retry', attempts: 0 })).toEqual([
      'attempts must be an integer of 1 or more, got the number 0',
    ]);
    expect(faultsOf(OPTION, { use: 'no' })).toEqual(['use must be "retry" or "cache", got a string']);
    expect(faultsOf(OPTION, {})).toEqual(['use is missing']);
  });

  test('either reports one fault', () => {
    const shape = either([string, strings], 'a string or an array of strings');
    expect(readShape(shape, 'a').value).toBe('a');
    expect(readShape(shape, ['a']).value).toEqual(['a']);
    expect(faultsOf(shape, [1])).toEqual(['it must be a string or an array of strings, got an array']);
  });
});

describe('checks and conversions', () => {
  const range = checked(object({ from: integer(), to: integer() }), ({ from, to }, fail) => {
    if (from > to) fail(['to'], 'must not be below from', 'swap them');
  });

  test('a check reports below its value, and nothing remains', () => {
    const { value, faults } = readShape(object({ range: optional(range) }), { range: { from: 2, to: 1 } });
    expect(value).toEqual({});
    expect(faults).toMatchObject([{ path: ['range', 'to'], message: 'must not be below from', hint: 'swap them' }]);
  });

  test('conversions see valid values only', () => {
    const size = converted(range, ({ from, to }) => to - from);
    expect(readShape(size, { from: 1, to: 3 }).value).toBe(2);
    expect(readShape(size, { from: 3, to: 1 }).value).toBeUndefined();
  });

  test('custom and described change what is expected', () => {
    const even = custom('an even number', (value) => (Number(value) % 2 === 0 ? Number(value) : undefined));
    expect(faultsOf(list(even), [2, 3])).toEqual(['[1] must be an even number, got the number 3']);
    const names = described(list(string), 'an array of names', 'write ["a"]');
    expect(readShape(names, 1).faults).toMatchObject([{ message: 'must be an array of names', hint: 'write ["a"]' }]);
    expect(faultsOf(names, [1])).toEqual(['[0] must be a string, got the number 1']);
  });

  test('matches', () => {
    expect(matches(SERVER, { command: 'x' })).toBe(true);
    expect(matches(SERVER, { command: ' ' })).toBe(false);
  });
});

test('a shape has a JSON Schema', () => {
  expect(SERVER.toSchema()).toEqual({
    type: 'object',
    properties: {
      command: { type: 'string', pattern: '\\S' },
      args: { type: 'array', items: { type: 'string' } },
      disabled: { type: 'boolean' },
    },
    required: ['command'],
    additionalProperties: false,
  });
});
