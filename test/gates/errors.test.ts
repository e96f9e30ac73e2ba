// Gate: the table of error codes, the specification and the page agree, and the statuses are real.

import { describe, expect, test } from 'vitest';
import { ERROR_CODES, type ErrorCode, exitStatus, isToolError, ToolError } from '../../src/core/error.js';
import { json, wield } from '../support/cli.js';
import { findRows, readDocument } from '../support/documents.js';
import { spec } from '../support/spec.js';
import { createWorkspace } from '../support/workspace.js';

const statement = (id: string): string =>
  readDocument('spec/tool.md')
    .split('\n')
    .find((line) => line.startsWith(`- \`${id}\``))!;
const rows = findRows(readDocument('docs/reference/errors.md'));
const codes = Object.keys(ERROR_CODES) as ErrorCode[];

describe('the page', () => {
  spec('ERR-1', 'has exactly one row per code', () => {
    expect(rows.map(([code]) => code)).toEqual(codes);
  });

  spec('ERR-1', 'gives each code its exit status, its recovery and a sentence', () => {
    for (const [code, exit, recovery, meaning = ''] of rows) {
      expect([code, exit, recovery]).toEqual([
        code,
        String(ERROR_CODES[code as ErrorCode].exit),
        ERROR_CODES[code as ErrorCode].recovery,
      ]);
      expect(meaning, code).toMatch(/^[A-Z].{20,}\.$/);
    }
  });

  test('explains every recovery', () => {
    const page = readDocument('docs/reference/errors.md');
    for (const recovery of new Set(codes.map((code) => ERROR_CODES[code].recovery)))
      expect(page).toContain(`\`${recovery}\``);
  });
});

spec('ERR-2', 'the codes are exactly those of the specification', () => {
  const stated = [...statement('ERR-2').matchAll(/`([a-z_]+)`/g)].map((match) => match[1]!);
  expect(codes).toEqual(stated);
});

spec('ERR-4', 'every code has the exit status of the specification', () => {
  const stated: Record<string, number> = {};
  for (const [, status, list] of statement('ERR-4').matchAll(/(\d+) `([a-z_ ]+)`/g))
    for (const code of list!.split(' ')) stated[code] = Number(status);
  expect(Object.fromEntries(codes.map((code) => [code, exitStatus(code)]))).toEqual(stated);
});

spec('ERR-1', 'recognises errors of another copy of the package, and nothing else', async () => {
  // A query makes Node load the module a second time.
  const copy = new URL('../../src/core/error.ts?copy', import.meta.url).href;
  const library = (await import(/* @vite-ignore */ copy)) as typeof import('../../src/core/error.js');
  expect(library.ToolError).not.toBe(ToolError);
  const cause = new Error('why');
  const theirs = new library.ToolError('busy', 'no room', { hint: 'wait', data: { running: 1 }, cause });
  expect(theirs).not.toBeInstanceOf(ToolError);
  expect(isToolError(theirs)).toBe(true);
  expect(library.isToolError(new ToolError('io', 'gone'))).toBe(true);
  expect(Symbol.for('wield.ToolError') in theirs).toBe(true);
  expect(theirs.cause).toBe(cause);
  expect(JSON.parse(JSON.stringify(theirs))).toEqual({
    code: 'busy',
    message: 'no room',
    hint: 'wait',
    data: { running: 1 },
  });
  expect(isToolError(new Error('plain'))).toBe(false);
  expect(isToolError({ code: 'busy', message: 'no room' })).toBe(false);
});

describe('the binary', () => {
  const script = (body: string, tags = ''): string => `#!/bin/sh\n# @description A tool.\n${tags}${body}\n`;
  const cases: readonly { code: ErrorCode; tool?: string; args: readonly string[] }[] = [
    { code: 'tool_failed', tool: script('exit 9'), args: ['call', 'tool'] },
    { code: 'exec_failed', tool: '#!/no/such/shell\n# @description A tool.\n', args: ['call', 'tool'] },
    { code: 'invalid_output', tool: script('echo 1', '# @returns object\n'), args: ['call', 'tool'] },
    { code: 'usage', args: ['frobnicate'] },
    { code: 'invalid_input', tool: script(':', '# @param *a int\n'), args: ['call', 'tool', '--a', 'x'] },
    { code: 'invalid_ref', args: ['call', 'no name'] },
    { code: 'not_found', args: ['show', 'nothing'] },
    { code: 'timeout', tool: script('sleep 60'), args: ['call', 'tool', '--timeout', '100ms'] },
    { code: 'unavailable', tool: script(':', '# @env NOT_GRANTED\n'), args: ['call', 'tool'] },
    { code: 'io', tool: script(':', '# @param a\n'), args: ['call', 'tool', '--input', '@nothing.json'] },
  ];
  for (const { code, tool, args } of cases) {
    spec('ERR-4', `exits ${exitStatus(code)} for ${code}`, async () => {
      const workspace = createWorkspace();
      if (tool !== undefined) workspace.script('tool', tool);
      const run = await wield(workspace, [...args, '--json']);
      expect(json(run)).toMatchObject({ ok: false, error: { code } });
      expect(run.status).toBe(ERROR_CODES[code].exit);
    });
  }

  spec('ERR-4', 'exits 5 if the policy denies', async () => {
    const workspace = createWorkspace();
    workspace.script('tool', script(':'));
    workspace.config('not toml');
    const run = await wield(workspace, ['call', 'tool', '--json']);
    expect(json(run).error.code).toBe('denied');
    expect(run.status).toBe(5);
  });

  spec('ERR-4', 'exits 0 for success', async () => {
    const workspace = createWorkspace();
    workspace.script('tool', script('echo fine'));
    expect((await wield(workspace, ['call', 'tool'])).status).toBe(0);
  });
});
