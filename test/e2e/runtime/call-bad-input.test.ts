// Bad input at the command line: a clear error with a hint, the right exit status, and nothing is run.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const TWENTY_MB = JSON.stringify({ text: 'x'.repeat(20_000_000), count: 1 });
const deep = (levels: number): string => `{"count": 1, "object": ${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`;

interface Case {
  readonly title: string;
  readonly args?: readonly string[];
  readonly stdin?: string;
  readonly file?: string;
  readonly code: string;
  readonly status: number;
  readonly message: RegExp;
}

const CASES: readonly Case[] = [
  { title: 'an unknown tool', args: ['sentinal'], code: 'not_found', status: 3, message: /sentinal/ },
  { title: 'a bad name', args: ['sent!nel'], code: 'invalid_ref', status: 2, message: /not a tool name/ },
  {
    title: 'a wrong type in a flag',
    args: ['sentinel', '--count', 'many'],
    code: 'invalid_input',
    status: 2,
    message: /count must be an integer/,
  },
  {
    title: 'a wrong type in JSON',
    args: ['sentinel', '--input', '{"count":1.5}'],
    code: 'invalid_input',
    status: 2,
    message: /count must be an integer/,
  },
  {
    title: 'a missing parameter',
    args: ['sentinel', '--text', 'x'],
    code: 'invalid_input',
    status: 2,
    message: /missing required parameter "count"/,
  },
  {
    title: 'an undeclared flag',
    args: ['sentinel', '--count', '1', '--conut', '2'],
    code: 'invalid_input',
    status: 2,
    message: /unknown parameter "conut"/,
  },
  {
    title: 'an undeclared key',
    stdin: '{"count":1,"extra":2}',
    code: 'invalid_input',
    status: 2,
    message: /unknown parameter "extra"/,
  },
  {
    title: '__proto__ at the root',
    stdin: '{"count":1,"__proto__":{}}',
    code: 'invalid_input',
    status: 2,
    message: /__proto__/,
  },
  {
    title: '__proto__ in the depth',
    stdin: '{"count":1,"object":{"a":[{"__proto__":1}]}}',
    code: 'invalid_input',
    status: 2,
    message: /__proto__/,
  },
  {
    title: '__proto__ in a flag',
    args: ['sentinel', '--count', '1', '--object.__proto__.x', '1'],
    code: 'invalid_input',
    status: 2,
    message: /__proto__/,
  },
  {
    title: 'a duplicate key',
    stdin: '{"count":1,"count":2}',
    code: 'invalid_input',
    status: 2,
    message: /"count" twice/,
  },
  {
    title: 'text that is no JSON',
    stdin: '{count: 1}',
    code: 'invalid_input',
    status: 2,
    message: /not valid JSON/,
  },
  { title: 'JSON that is not an object', stdin: '[1]', code: 'invalid_input', status: 2, message: /object/ },
  { title: '100 levels', stdin: deep(100), code: 'invalid_input', status: 2, message: /deeper than 64/ },
  {
    title: '100,000 levels',
    stdin: deep(100_000),
    code: 'invalid_input',
    status: 2,
    message: /deeper than 64/,
  },
  {
    title: '20 MB on standard input',
    stdin: TWENTY_MB,
    code: 'too_large',
    status: 2,
    message: /larger than 10 MiB/,
  },
  {
    title: '20 MB in a file',
    args: ['sentinel', '--input', '@large.json'],
    file: TWENTY_MB,
    code: 'too_large',
    status: 2,
    message: /larger than 10 MiB/,
  },
];

for (const { title, args = ['sentinel'], stdin = '', file, code, status, message } of CASES) {
  spec('RUN-3 SCR-9 ERR-3 ERR-4', `${title} exits ${status}, and nothing is run`, async () => {
    const workspace = createWorkspace();
    workspace.script(
      'sentinel',
      shellScript('touch ran', '@param *count integer', '@param text string', '@param object object'),
    );
    if (file !== undefined) workspace.write('large.json', file);
    const run = await wield(workspace, ['call', ...args, '--json'], { stdin });
    expect(run.status).toBe(status);
    expect(json(run)).toMatchObject({ ok: false, error: { code, hint: expect.stringMatching(/./) } });
    expect(json(run).error.message).toMatch(message);

    const plain = await wield(workspace, ['call', ...args], { stdin });
    expect([plain.status, plain.stdout]).toEqual([status, '']);
    expect(plain.stderr).toMatch(/^error {2}.+\n {2}hint {2}.+\n$/s);
    expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
  });
}

spec.thorough('SCR-9 RUN-3', 'input just under the bounds is run', async () => {
  const workspace = createWorkspace();
  workspace.script('size', shellScript('wc -c', '@param text string', '@param object object'));
  const text = 'a"\\\n'.repeat(1_200_000);
  const large = await wield(workspace, ['call', 'size', '--input', '-'], { stdin: JSON.stringify({ text }) });
  expect([large.status, Number(large.stdout), large.stderr]).toEqual([0, JSON.stringify({ text }).length, '']);
  const nested = `{"object": ${'{"a":'.repeat(63)}1${'}'.repeat(63)}}`;
  expect((await wield(workspace, ['call', 'size', '--input', '-'], { stdin: nested })).status).toBe(0);
});
