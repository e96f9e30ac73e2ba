// Managed files of a machine: which are read, how they merge, and what is wrong with one.

import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { type ManagedWorkspace, withManaged } from '../../support/managed.js';
import { spec } from '../../support/spec.js';

const ECHO = '#!/bin/sh\n# @description Say something.\necho ran\n';
const limits = (text: string): string => `[limits]\n${text}\n`;

async function denial(workspace: ManagedWorkspace): Promise<{ readonly code: string; readonly message: string }> {
  workspace.script('echo', ECHO);
  return json(await wield(workspace, ['call', 'echo', '--json'])).error;
}

async function values(workspace: ManagedWorkspace): Promise<Record<string, unknown>> {
  const { values: all } = json(await wield(workspace, ['config', '--json']));
  return Object.fromEntries(all.map((one: { key: string; value: unknown }) => [one.key, one.value]));
}

describe.concurrent('files', () => {
  spec('POL-40', 'config.toml comes first, then the files of config.d by name', () =>
    withManaged(
      {
        'config.d/20-b.toml': limits('timeout = "20s"\nqueue = 7'),
        'config.d/10-a.toml': `${limits('timeout = "10s"')}[env]\npass = ["FIRST"]\n`,
        'config.d/30-c.toml': '[env]\npass = ["SECOND"]\n',
        'config.d/.hidden.toml': limits('queue = 1'),
        'config.d/notes.txt': 'not TOML',
        'config.toml': limits('timeout = "30s"'),
      },
      async (workspace) => {
        workspace.config('[env]\npass = ["MINE"]\n[limits]\nqueue = 9\n');
        const found = await values(workspace);
        // The lowest limit counts, and the first of the other values.
        expect(found).toMatchObject({ 'limits.timeout': 10_000, 'limits.queue': 7, 'env.pass': ['FIRST'] });
      },
    ),
  );

  spec('POL-40', 'rules and lists of all files apply, in their order', () =>
    withManaged(
      {
        'config.d/10-a.toml': '[trust]\nrules = ["echo($policy=ask)"]\n',
        'config.d/20-b.toml': '[trust]\nrules = ["echo($policy=allow)", "other($deny)"]\n',
        'config.d/30-c.toml': '[[middleware]]\nuse = "rate-limit"\ncalls = 1\n',
        'config.d/40-d.toml': '[[middleware]]\nuse = "rate-limit"\ncalls = 100\n',
      },
      async (workspace) => {
        workspace.script('echo', ECHO);
        workspace.script('other', ECHO);
        const explained = json(await wield(workspace, ['explain', 'echo', '--as', 'user', '--json']));
        expect(explained).toMatchObject({
          verdict: 'ask',
          rule: { file: join(workspace.managed, 'config.d/10-a.toml') },
        });
        expect(json(await wield(workspace, ['call', 'other', '--json'])).error.code).toBe('denied');
        // No entry of one file replaces that of another.
        expect(await values(workspace)).toMatchObject({
          'middleware.managed.1': { options: { calls: 1 } },
          'middleware.managed.2': { options: { calls: 100 } },
        });
      },
    ),
  );

  spec('POL-40', 'a file that appears counts at the next call of an open toolbox', () =>
    withManaged({ 'config.d/10-a.toml': '' }, async (workspace) => {
      workspace.script('echo', ECHO);
      const toolbox = workspace.toolbox();
      expect(await toolbox.call('echo', {})).toMatchObject({ ok: true });
      const added = workspace.manage('config.d/20-b.toml', '[trust]\nrules = ["echo($deny)"]\n');
      expect(await toolbox.call('echo', {})).toMatchObject({ ok: false, error: { code: 'denied' } });
      rmSync(added);
      expect(await toolbox.call('echo', {})).toMatchObject({ ok: true });
    }),
  );
});

describe.concurrent('invalid files', () => {
  spec('POL-40', 'an invalid file of config.d denies everything, with its line', () =>
    withManaged(
      { 'config.d/10-a.toml': '', 'config.d/20-b.toml': '\n[limits]\ntimeout = "soon"\n' },
      async (workspace) => {
        const { code, message } = await denial(workspace);
        expect({ code, message }).toEqual({ code: 'denied', message: expect.stringContaining('config.d/20-b.toml:3') });
      },
    ),
  );

  const BROKEN: readonly [string, (workspace: ManagedWorkspace) => void, RegExp][] = [
    [
      'a dangling link',
      ({ managed }) => symlinkSync('/nowhere', join(managed, 'config.d/x.toml')),
      /x\.toml.*symbolic link/,
    ],
    [
      'a directory in place of a file',
      ({ managed }) => mkdirSync(join(managed, 'config.d/x.toml')),
      /x\.toml.*not a regular file/,
    ],
    [
      'a file that others can write',
      ({ manage }) => chmodSync(manage('config.d/x.toml', ''), 0o666),
      /x\.toml.*others can write/,
    ],
    [
      'a directory that others can write',
      ({ managed }) => chmodSync(join(managed, 'config.d'), 0o777),
      /config\.d: others can write/,
    ],
    ['a file in place of config.d', ({ managed }) => replaceDirectory(managed), /config\.d.*not a directory/i],
    ['a config.d that is a dangling link', ({ managed }) => linkDirectory(managed), /config\.d.*no such file/i],
  ];
  for (const [what, damage, message] of BROKEN)
    spec('POL-40', `${what} denies everything`, () =>
      withManaged({ 'config.d/10-a.toml': '' }, async (workspace) => {
        damage(workspace);
        expect(await denial(workspace)).toMatchObject({ code: 'denied', message: expect.stringMatching(message) });
      }),
    );
});

function replaceDirectory(managed: string): void {
  rmSync(join(managed, 'config.d'), { recursive: true });
  writeFileSync(join(managed, 'config.d'), '');
}

function linkDirectory(managed: string): void {
  rmSync(join(managed, 'config.d'), { recursive: true });
  symlinkSync('/nowhere', join(managed, 'config.d'));
}
