// Property tests of the script header parser.

import fc from 'fast-check';
import { expect } from 'vitest';
import { rounds } from '../../../test/support/effort.js';
import { spec } from '../../../test/support/spec.js';
import { readScriptHeader } from './header.js';
import { HEADER_LINES } from './tags.js';

const word = fc.stringMatching(/^[A-Za-z0-9.,!?'()-]{1,12}$/).filter((text) => !/^(?:#|\/\/|--)/.test(text));
const sentence = fc.array(word, { minLength: 1, maxLength: 8 }).map((words) => words.join(' '));
const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_-]{0,20}$/).filter((text) => text !== '__proto__');
const parameters = fc.uniqueArray(
  fc.record({
    name,
    required: fc.boolean(),
    type: fc.constantFrom('string', 'number', 'integer', 'boolean', 'array', 'object'),
    description: fc.oneof(fc.constant(''), sentence),
  }),
  { maxLength: 20, selector: (parameter) => parameter.name.toUpperCase().replaceAll('-', '_') },
);
const prefix = fc.constantFrom('#', '# ', '//', '// ', '--', '-- ', '  #\t');
const lineEnd = fc.constantFrom('\n', '\r\n');

spec.thorough('SCR-3 SCR-19', 'never throws, and returns a header or an error', () => {
  const tagged = fc
    .array(
      fc.oneof(
        fc.string({ unit: 'binary', maxLength: 40 }),
        fc
          .tuple(prefix, fc.constantFrom('@param ', '@description ', '@timeout ', '@example ', '@'), fc.string())
          .map((parts) => parts.join('')),
      ),
      { maxLength: 100 },
    )
    .map((lines) => ['#!/bin/sh', ...lines].join('\n'));
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary', maxLength: 400 }), tagged), (text) => {
      const { header, errors, warnings } = readScriptHeader(text);
      expect(header === undefined).toBe(errors.length > 0);
      for (const { message, hint } of [...errors, ...warnings]) {
        expect(message).toMatch(/\S/);
        expect(hint).toMatch(/\S/);
        expect(message + hint).not.toMatch(/[\u0000-\u001f\u202e]/);
      }
    }),
    { numRuns: rounds(150, 2000) },
  );
});

spec('SCR-4 SCR-6 SCR-7', 'parses what was written', () => {
  fc.assert(
    fc.property(sentence, parameters, prefix, lineEnd, (description, declared, mark, end) => {
      const lines = [
        `${mark}@description ${description}`,
        ...declared.map(
          (parameter) =>
            `${mark}@param ${parameter.required ? '*' : ''}${parameter.name} ${parameter.type}  ${parameter.description}`,
        ),
        'code',
        `${mark}@param late string`,
      ];
      const reading = readScriptHeader(`#!/bin/sh\n${lines.join(end)}`);
      expect(reading.errors).toEqual([]);
      expect(reading.header?.description).toBe(description);
      expect(reading.header?.parameters).toEqual(declared);
    }),
  );
});

spec('SCR-3', 'ignores everything after line 80', () => {
  const lines = fc.array(sentence, { minLength: HEADER_LINES - 1, maxLength: HEADER_LINES - 1 });
  fc.assert(
    fc.property(lines, fc.string(), (head, tail) => {
      const block = ['#!/bin/sh', '# @description D', ...head.slice(1).map((line) => `# ${line}`)].join('\n');
      const whole = readScriptHeader(`${block}\n# @param late string\n${tail}`);
      expect(whole).toEqual(readScriptHeader(block));
    }),
    { numRuns: 50 },
  );
});
