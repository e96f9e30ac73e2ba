// Attacks through values: input reaches the tool as data, byte for byte, or not at all.

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { textOf } from '../../src/core/result.js';
import { json, wield } from '../support/cli.js';
import { createSkillWorkspace, declare } from '../support/commands.js';
import { rounds } from '../support/effort.js';
import { nodeScript, READ_STDIN, shellScript } from '../support/shell-script.js';
import { spec } from '../support/spec.js';
import { createWorkspace } from '../support/workspace.js';

const REFLECT = nodeScript(
  `${READ_STDIN}
  const { WIELD_PARAM_TEXT, OCTOMIND_PARAM_TEXT } = process.env;
  console.log(JSON.stringify({
    stdin: JSON.parse(input), wield: WIELD_PARAM_TEXT, octomind: OCTOMIND_PARAM_TEXT, argv: process.argv.slice(2),
  }));`,
  '@param text string',
);

const HOSTILE = [
  '; touch sentinel',
  '$(touch sentinel)',
  '`touch sentinel`',
  '| touch sentinel',
  '&& touch sentinel #',
  '* ? [a-z] ~ {a,b}',
  "' \" \\ \\\\ \\' $IFS $HOME $'\\n'",
  'one\r\ntwo\rthree\nfour\n',
  '-rf --output=x -',
  '\u001b[31m\u0007\u0008',
  'ünïcödé 日本語 🜁 \u202e\u200b',
  '',
  ' ',
];

spec('EXE-1 SCR-10 SCR-11', 'A07 passes metacharacters, globs, CR and LF unchanged', async () => {
  const workspace = createWorkspace();
  workspace.script('reflect', REFLECT);
  const toolbox = workspace.toolbox();
  for (const text of HOSTILE) {
    const result = await toolbox.call('reflect', { text });
    const structured = { stdin: { text }, wield: text, octomind: text, argv: [] };
    expect(result).toMatchObject({ ok: true, structured });
  }
  expect(existsSync(join(workspace.dir, 'sentinel'))).toBe(false);
});

spec('EXE-1 SCR-10', 'A07 passes them unchanged through the command line', async () => {
  const workspace = createWorkspace();
  workspace.script('reflect', REFLECT);
  const text = HOSTILE.slice(0, 9).join('');
  const run = await wield(workspace, ['call', 'reflect', `--text=${text}`, '--json']);
  expect(json(run).structured).toEqual({ stdin: { text }, wield: text, octomind: text, argv: [] });
  expect(existsSync(join(workspace.dir, 'sentinel'))).toBe(false);
});

spec.thorough('SCR-11', 'passes any text without NUL in both variables and on stdin', async () => {
  const workspace = createWorkspace();
  workspace.script('reflect', REFLECT);
  const toolbox = workspace.toolbox();
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'binary', maxLength: 200 }).filter((text) => !text.includes('\0')),
      async (text) => {
        const result = await toolbox.call('reflect', { text });
        expect(result.structured).toEqual({ stdin: { text }, wield: text, octomind: text, argv: [] });
      },
    ),
    { numRuns: rounds(10, 25) },
  );
});

spec('SCR-2 EXE-8', 'A09 does not run a file without a shebang', async () => {
  const workspace = createWorkspace();
  for (const [name, text] of [
    ['bare', '# @description D\ntouch ran\n'],
    ['empty-line', '\n#!/bin/sh\n# @description D\ntouch ran\n'],
    ['blank', ' #!/bin/sh\n# @description D\ntouch ran\n'],
    ['bom', '\ufeff#!/bin/sh\n# @description D\ntouch ran\n'],
    ['nothing', '#!\n# @description D\ntouch ran\n'],
  ] as const)
    workspace.script(name, text);
  const toolbox = workspace.toolbox({ trust: true });
  for (const name of ['bare', 'empty-line', 'blank', 'bom', 'nothing'])
    expect([name, (await toolbox.call(name, {})).ok]).toEqual([name, false]);
  expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
  // One that loses its shebang after it was found is not run either.
  const path = workspace.script('loses', shellScript('touch ran'));
  await toolbox.plan('loses', {});
  writeFileSync(path, 'touch ran\n');
  expect((await toolbox.call('loses', {})).ok).toBe(false);
  expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
});

spec('RUN-3 SCR-9', 'A08 rejects an arithmetic payload in an integer', async () => {
  const workspace = createWorkspace();
  workspace.script(
    'compare',
    '#!/bin/bash\n# @description Compares.\n# @param *count integer How many.\n[[ $WIELD_PARAM_COUNT -gt 3 ]] && echo many\n',
  );
  const toolbox = workspace.toolbox();
  const payload = 'a[$(touch sentinel)]';
  for (const count of [payload, [payload], { payload }, 1.5, '1; touch sentinel', '0x10', ' 4', null, true]) {
    const result = await toolbox.call('compare', { count });
    expect(result.error?.code, JSON.stringify(count)).toBe('invalid_input');
  }
  for (const text of [payload, '4+a[$(touch sentinel)]', '4 ', '0x4'])
    expect([text, (await wield(workspace, ['call', 'compare', `--count=${text}`])).status]).toEqual([text, 2]);
  expect(existsSync(join(workspace.dir, 'sentinel'))).toBe(false);
  expect(textOf(await toolbox.call('compare', { count: 4 }))).toBe('many\n');
});

spec('SCR-11 RUN-3', 'A11 rejects NUL in a value, and runs nothing', async () => {
  const workspace = createWorkspace();
  workspace.script('touch', shellScript('touch ran', '@param text string', '@param list array'));
  const toolbox = workspace.toolbox();
  const result = await toolbox.call('touch', { text: 'a\0b' });
  expect(result.error).toMatchObject({ code: 'invalid_input', hint: expect.stringMatching(/./) });
  expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
  // In JSON text it is escaped, and harmless.
  expect((await toolbox.call('touch', { list: ['a\0b'] })).ok).toBe(true);
});

spec('TJS-13 TJS-9 SCR-11', 'A11 rejects NUL in paths, directories, files, lists, keys and declared text', async () => {
  const workspace = createSkillWorkspace();
  workspace.program('leave', '#!/bin/sh\ntouch "$WIELD_WORKDIR/ran" ran\n');
  workspace.write('a', 'a');
  const args = [
    { param: 'read', readPath: true },
    { param: 'write', writePath: true, kind: 'flag' },
    { param: 'dir', kind: 'workingdir' },
    { param: 'file', kind: 'tempfile', flag: 'body' },
    { param: 'list', kind: 'flag' },
    { param: 'split', split: true },
  ];
  const properties = { list: { type: 'array', items: { type: 'string' } } };
  workspace.skill('own', { 'tools.json': declare(args, { binary: 'leave', properties }) });
  const toolbox = workspace.toolbox();
  for (const input of [
    { read: 'a\0' },
    { read: '\0/../../etc/passwd' },
    { write: 'a\0b' },
    { dir: '.\0/..' },
    { list: ['a', 'b\0'] },
    { split: 'a b\0c' },
    { 'read\0': 'a' },
  ]) {
    const { error } = await toolbox.call('run', input);
    expect([input, error?.code]).toEqual([input, 'invalid_input']);
  }
  expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
  // In a file it is a byte like others.
  expect((await toolbox.call('run', { file: 'a\0b' })).ok).toBe(true);
  for (const [at, declared] of [
    declare([], { binary: 'leave', subcommand: 'x\0y' }),
    declare([{ value: 'x\0y' }], { binary: 'leave' }),
    declare([{ param: 'a', kind: 'flag', flag: '--a\0b' }], { binary: 'leave' }),
    declare([], { binary: 'leave\0' }),
  ].entries()) {
    const other = createSkillWorkspace();
    other.program('leave', '#!/bin/sh\ntouch ran\n');
    other.skill('own', { 'tools.json': declared });
    expect([at, (await other.toolbox().call('run', { a: 'a' })).ok]).toEqual([at, false]);
    expect([at, existsSync(join(other.dir, 'ran'))]).toEqual([at, false]);
  }
});

spec('RUN-1', 'A11 rejects NUL in a reference', async () => {
  const workspace = createWorkspace();
  workspace.script('touch', shellScript('touch ran'));
  const result = await workspace.toolbox().call('touch\0', {});
  expect(result.error?.code).toBe('invalid_ref');
  expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
});
