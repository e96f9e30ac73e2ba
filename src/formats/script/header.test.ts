// Tests the script header parser: tags, types, names, continuation lines and limits.

import { describe, expect } from 'vitest';
import { finding, spec } from '../../../test/support/spec.js';
import { type HeaderReading, readScriptHeader } from './header.js';
import { HEADER_LINES } from './tags.js';

const read = (...lines: string[]): HeaderReading => readScriptHeader(['#!/bin/sh', ...lines, ''].join('\n'));
const parametersOf = (reading: HeaderReading) => reading.header?.parameters;

describe('the block', () => {
  for (const prefix of ['#', '//', '--']) {
    spec('SCR-3', `reads header lines that start with ${prefix}`, () => {
      const { header, errors } = read(
        `${prefix} @description Says it.`,
        `${prefix}@param *a int A number`,
        `  ${prefix}   @param b`,
        'code',
        `${prefix} @param c string too late`,
      );
      expect(errors).toEqual([]);
      expect(header?.description).toBe('Says it.');
      expect(header?.parameters).toEqual([
        { name: 'a', type: 'integer', required: true, description: 'A number' },
        { name: 'b', type: 'string', required: false, description: '' },
      ]);
    });
  }

  spec('SCR-3', 'skips blank lines and ends at the first line of code', () => {
    const reading = read('', '  ', '# @description D', '', '# @param a string A', 'x=1', '# @param b string B');
    expect(parametersOf(reading)?.map((parameter) => parameter.name)).toEqual(['a']);
  });

  spec('SCR-3', 'reads line 80 but not line 81, counting the shebang', () => {
    const filler = Array.from({ length: HEADER_LINES - 2 }, (_, index) => `# line ${index + 2}`);
    expect(read(...filler, '# @description At line 80').header?.description).toBe('At line 80');
    const late = read(...filler, '# line 80', '# @description At line 81');
    expect(late.header).toBeUndefined();
    expect(late.errors[0]?.message).toBe('missing @description');
  });

  for (const docstring of [['"""Doc."""'], ["'''Doc", 'import os # not code', "'''"], ['r"""Doc', '', '  end."""']]) {
    finding('N7 SCR-3', `skips the docstring ${JSON.stringify(docstring)} before the first tag`, () => {
      const reading = read('# -*- coding: utf-8 -*-', ...docstring, '# @description D', '# @param a int A');
      expect(reading.errors).toEqual([]);
      expect(parametersOf(reading)?.map((parameter) => parameter.name)).toEqual(['a']);
    });
  }

  finding('N7 SCR-3', 'ends the header at a docstring after a tag', () => {
    expect(parametersOf(read('# @description D', '"""Doc."""', '# @param a int A'))).toEqual([]);
  });

  finding('N7 SCR-4', 'names the line that ended the header', () => {
    const [error] = read('', 'import os', '# @description D').errors;
    expect(error).toMatchObject({
      message: 'missing @description',
      hint: 'line 3 is not a comment and ends the header: import os; move line 4 above it',
      line: 3,
    });
    expect(read('"""never closed', '# @description D').errors[0]?.hint).toContain('line 2 is not a comment');
  });

  spec('SCR-3', 'treats CRLF like LF', () => {
    const reading = readScriptHeader('#!/bin/sh\n# @description One\r\n# two\r\n\r\n# @param a string A\r\ncode');
    expect(reading.header?.description).toBe('One\ntwo');
    expect(parametersOf(reading)?.[0]?.description).toBe('A');
  });

  spec('SCR-3', 'does not end at a lone CR or a line separator in a comment', () => {
    const reading = read('# odd \r middle', '# odd \u2028 middle', '# @description D');
    expect(reading.header?.description).toBe('D');
  });

  spec('SCR-3', 'reports a byte-order mark with its bytes', () => {
    const { header, errors } = readScriptHeader('\ufeff#!/bin/sh\n# @description D\n');
    expect(header).toBeUndefined();
    expect(errors).toHaveLength(1);
    expect(errors[0]!.message).toContain('EF BB BF');
    expect(errors[0]!.command).toContain('sed -i');
  });

  spec('SCR-3', 'reports a shebang that ends in CR with the byte', () => {
    const { header, errors } = readScriptHeader('#!/bin/sh\r\n# @description D\r\n');
    expect(header).toBeUndefined();
    expect(errors[0]!.message).toContain('0D');
    expect(errors[0]!.command).toContain('sed -i');
  });

  for (const text of ['', '\n', '# @description D', '#!', '#!   \n# @description D', ' #!/bin/sh\n']) {
    spec('SCR-2', `reports the missing shebang of ${JSON.stringify(text)} with the line to add`, () => {
      const { header, errors } = readScriptHeader(text);
      expect(header).toBeUndefined();
      expect(errors[0]!.message).toContain('does not start with a shebang');
      expect(errors[0]!.hint).toContain('#!/usr/bin/env bash');
    });
  }

  spec('SCR-2', 'returns the interpreter line without #!', () => {
    expect(readScriptHeader('#! /usr/bin/env -S bash -eu \n# @desc D').header?.shebang).toBe(
      '/usr/bin/env -S bash -eu',
    );
  });
});

describe('tags', () => {
  spec('SCR-4', 'reads tags and their aliases in any case', () => {
    const reading = read('# @DESC Short', '# @Arg *a string A', '# @PARAM b INT B');
    expect(reading.header?.description).toBe('Short');
    expect(parametersOf(reading)?.map(({ name, type }) => [name, type])).toEqual([
      ['a', 'string'],
      ['b', 'integer'],
    ]);
  });

  spec('SCR-4', 'joins continuation lines with a newline in a description, with a space in a parameter', () => {
    const { header } = read('# @description One', '# two', '#', '# three', '# @param a string A', '#   and   more');
    expect(header?.description).toBe('One\ntwo\n\nthree');
    expect(header?.parameters[0]?.description).toBe('A and more');
  });

  spec('SCR-4', 'ends the text of a tag, but not the header, at a blank line', () => {
    const { header } = read('# @description One', '', '# about the code', '# @param a string A', '', '# more');
    expect(header?.description).toBe('One');
    expect(header?.parameters[0]?.description).toBe('A');
  });

  for (const line of ['@description: Short', '@description:Short', '@DESC:   Short']) {
    finding('D9 SCR-4', `accepts the colon of ${line}`, () => {
      expect(read(`# ${line}`).header?.description).toBe('Short');
    });
  }

  for (const tag of ['@raycast.title Hello', '@foo:bar', '@raycast.mode: silent', '@1st', '@'])
    finding('D9 SCR-5', `the unknown tag ${tag} ends the text above it`, () => {
      const { header, unknownTags } = read(
        '# @description One',
        `# ${tag}`,
        '# two',
        '# @param a string A',
        `# ${tag}`,
      );
      expect(header?.description).toBe('One');
      expect(header?.parameters[0]?.description).toBe('A');
      expect(unknownTags[0]).toBe(/^@(\S*?):?(?:\s|$)/.exec(tag)![1]);
    });

  spec('SCR-4', 'joins several descriptions by a newline', () => {
    expect(read('# @description One', '# @desc Two').header?.description).toBe('One\nTwo');
  });

  for (const lines of [
    ['# @param a string A'],
    ['# @description'],
    ['# @description   ', '#  '],
    ['# just words'],
    [],
  ]) {
    spec('SCR-4', `reports the missing description of ${JSON.stringify(lines)}`, () => {
      const { header, errors } = read(...lines);
      expect(header).toBeUndefined();
      expect(errors.map((error) => error.message)).toEqual(['missing @description']);
      expect(errors[0]!.hint).toContain('# @description');
    });
  }

  spec('SCR-5', 'reads the other tags', () => {
    const { header, warnings } = read(
      '# @description D',
      '# @group Deploy',
      '# @tag One, two',
      '# @tag Three!',
      '# @timeout 30s',
      '# @returns int How many',
      '# of them',
      '# @readonly',
      '# @Destructive',
      '# @terminal',
      '# @hidden',
      '# @example {"a":1,',
      '#   "b":2}',
      '# @env TOKEN for the service',
      '# @sandbox read-only',
    );
    expect(warnings).toEqual([]);
    expect(header).toMatchObject({
      output: { type: 'integer', description: 'How many of them' },
      needs: ['TOKEN'],
      traits: {
        group: 'Deploy',
        tags: ['one', 'two', 'three'],
        timeoutMs: 30_000,
        examples: [{ a: 1, b: 2 }],
        sandbox: { profile: 'read-only', required: true },
        destructive: true,
        hidden: true,
        readOnly: true,
        terminal: true,
        background: undefined,
      },
    });
  });

  spec('SCR-5', 'ignores unknown tags with their continuation lines, and returns them for the debug log', () => {
    const reading = read('# @author Ada', '# and her cat', '# @constructor x', '# @description D', '# @since 1');
    expect(reading.header?.description).toBe('D');
    expect(reading.errors).toEqual([]);
    expect(reading.warnings).toEqual([]);
    expect(reading.unknownTags).toEqual(['author', 'constructor', 'since']);
  });

  spec('SCR-5', 'warns about an invalid tag and keeps the tool', () => {
    const reading = read(
      '# @description D',
      '# @timeout soon',
      '# @returns lots of things',
      '# @example {oops}',
      '# @env 1BAD',
      '# @tag Fine',
    );
    expect(reading.header).toMatchObject({ needs: [], traits: { tags: ['fine'], examples: [] } });
    expect(reading.header?.traits.timeoutMs).toBeUndefined();
    expect(reading.header?.output).toBeUndefined();
    expect(reading.warnings).toHaveLength(4);
    for (const warning of reading.warnings) expect(warning.hint).toMatch(/\S/);
  });
});

describe('parameters', () => {
  spec('SCR-6', 'makes a parameter with a star required, and joins its description by single spaces', () => {
    expect(parametersOf(read('# @desc D', '# @param   *count  int   how \t many   times'))).toEqual([
      { name: 'count', type: 'integer', required: true, description: 'how many times' },
    ]);
  });

  for (const name of ['a', '_', 'A-b_c9', '_x-', 'constructor', 'toString', 'x'.repeat(128)]) {
    spec('SCR-6', `accepts the parameter name ${name}`, () => {
      expect(parametersOf(read('# @desc D', `# @param ${name} string`))?.[0]?.name).toBe(name);
    });
  }

  for (const name of ['1a', '-a', 'a.b', 'a=b', 'é', 'a*', 'a$b', '{string}']) {
    finding('003-34 SCR-6', `accepts the parameter name ${name} with a warning about its variable`, () => {
      const { header, errors, warnings } = read('# @desc D', `# @param ${name} string`);
      expect(errors).toEqual([]);
      expect(header?.parameters[0]?.name).toBe(name);
      expect(warnings[0]!.message).toMatch(/is passed as WIELD_PARAM_[A-Z0-9_]+$/);
    });
  }

  for (const name of ['__proto__', 'a\u202eb', 'x'.repeat(129)]) {
    spec('SCR-6', `rejects the parameter name ${JSON.stringify(name)}`, () => {
      const { header, errors } = read('# @desc D', `# @param ${name} string`);
      expect(header).toBeUndefined();
      expect(errors[0]!.message).toContain('is not allowed');
    });
  }

  spec('SCR-6', 'shortens a long name in warnings', () => {
    for (const name of ['x'.repeat(100), `${'x'.repeat(99)}.`]) {
      const { errors, warnings } = read('# @desc D', `# @param ${name} odd`, `# @param ${name} enum`);
      expect(errors).toEqual([]);
      const texts = warnings.flatMap(({ message, hint }) => [message, hint]).filter((text) => text.includes('xx'));
      expect(texts.length).toBeGreaterThan(3);
      expect(texts.filter((text) => !/^.*x{59}….*$/.test(text))).toEqual([]);
    }
  });

  finding('003-35 SCR-6', 'uses the last of two declarations, with a warning', () => {
    const reading = read('# @desc D', '# @param a string', '# @param b string', '# @param *a int Last');
    expect(reading.errors).toEqual([]);
    expect(parametersOf(reading)).toEqual([
      { name: 'a', type: 'integer', required: true, description: 'Last' },
      { name: 'b', type: 'string', required: false, description: '' },
    ]);
    expect(reading.warnings).toMatchObject([{ message: '@param a is declared twice, using the last', line: 5 }]);
  });

  spec('SCR-11', 'rejects two names with the same variable', () => {
    const { header, errors } = read('# @desc D', '# @param a-b string', '# @param A_B string');
    expect(header).toBeUndefined();
    expect(errors[0]!.message).toBe('@param a-b and A_B would both be passed as A_B');
  });

  spec('SCR-6', 'ignores a parameter without a name, with a warning', () => {
    const reading = read('# @desc D', '# @param', '# @param * string oops');
    expect(parametersOf(reading)).toEqual([]);
    expect(reading.warnings).toHaveLength(2);
  });

  const types = {
    string: ['string', 'str', 'STRING', 'Str'],
    number: ['number', 'num', 'float', 'Float'],
    integer: ['integer', 'int', 'INT'],
    boolean: ['boolean', 'bool', 'Bool'],
    array: ['array', 'list', 'LIST'],
    object: ['object', 'obj', 'map', 'Map'],
  };
  for (const [type, words] of Object.entries(types)) {
    spec('SCR-7', `reads ${words.join(', ')} as ${type}`, () => {
      for (const word of words) {
        const reading = read('# @desc D', `# @param a ${word} about`);
        expect(parametersOf(reading)).toEqual([{ name: 'a', type, required: false, description: 'about' }]);
        expect(reading.warnings).toEqual([]);
      }
    });
  }

  for (const word of ['weird', 'FILE', 'constructor', '__proto__', 'int?', 'string,', 'string(s)', 'file(s)', 'enum']) {
    spec('SCR-7', `reads the unknown type ${word} as string, with a warning that quotes it`, () => {
      const reading = read('# @desc D', `# @param a ${word} thing`);
      expect(parametersOf(reading)).toEqual([{ name: 'a', type: 'string', required: false, description: 'thing' }]);
      expect(reading.warnings[0]!.message).toContain(`"${word}"`);
      expect(reading.warnings[0]!.hint).toContain(word === 'enum' ? 'enum(fast|slow)' : `string ${word}`);
    });
  }
});
