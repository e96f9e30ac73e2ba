// Middleware by configuration: a person without code has it too, and a checkout can only narrow with it.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { connectStdio } from '../../support/clients.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const script = (body: string): string => `#!/bin/sh\n# @description A test.\n# @readonly\n${body}\n`;
const entry = (use: string, rest: string): string => `[[middleware]]\nuse = "${use}"\n${rest}\n`;
const runs = (workspace: Workspace): number =>
  readFileSync(join(workspace.dir, 'log'), 'utf8').trim().split('\n').length;

spec('RUN-9', 'the server keeps its cache and its budgets while other lines change', async () => {
  const workspace = createWorkspace();
  workspace.script('look', script('echo run >> log\necho seen'));
  workspace.script('slow', script('echo ok'));
  const config =
    entry('cache', 'for = "look"\nmax-age = "1h"') + entry('rate-limit', 'for = "slow"\ncalls = 1\nevery = "1h"');
  workspace.config(config);
  const client = await connectStdio(workspace, 'older');
  const call = async (name: string): Promise<string> => JSON.stringify((await client.callTool({ name })).content);
  for (let at = 0; at < 3; at++) expect(await call('look')).toContain('seen');
  expect(runs(workspace)).toBe(1);
  expect(await call('slow')).toContain('ok');
  expect(await call('slow')).toContain('[busy] slow was not run: at most 1 call in 60 min');
  workspace.config(`${config}[limits]\ntimeout = "1m"\n`);
  workspace.write('.agents/config.toml', 'repair = false\n');
  expect(await call('look')).toContain('seen');
  expect(await call('slow')).toContain('call again in');
  expect(runs(workspace)).toBe(1);
  workspace.config('');
  expect(await call('slow')).toContain('ok');
  expect(await call('look')).toContain('seen');
  expect(runs(workspace)).toBe(2);
});

spec.thorough('RUN-9', 'a run that used up the time limit is not repeated; a person sees what it wrote', async () => {
  const workspace = createWorkspace();
  workspace.config(entry('retry', 'for = "flaky"\nattempts = 3\nwait = "1ms"'));
  workspace.script('flaky', script('echo run >> log\necho partial\nsleep 30'));
  const timed = json(await wield(workspace, ['call', 'flaky', '--json', '--timeout', '3s']));
  expect(timed.error.code).toBe('timeout');
  expect(runs(workspace)).toBe(1);
  const shown = await wield(workspace, ['call', 'flaky', '--timeout', '3s']);
  expect(shown.status).toBe(6);
  expect(shown.stdout).toContain('partial\n');
  expect(shown.stderr).toContain('did not end within 3 s');
});

spec('RUN-9 POL-11', 'a project can limit rates, and neither repeat nor remember', async () => {
  const workspace = createWorkspace();
  workspace.script('look', script('echo run >> log\necho seen'));
  workspace.config(entry('cache', 'for = "other"'));
  workspace.write(
    '.agents/config.toml',
    `${entry('retry', 'assume-idempotent = true')}\n${entry('cache', '')}\n${entry('rate-limit', 'calls = 2\nevery = "1h"')}`,
  );
  const toolbox = workspace.toolbox();
  const codes = [];
  for (let at = 0; at < 3; at++) codes.push((await toolbox.call('look', {})).error?.code ?? 'ok');
  expect(codes).toEqual(['ok', 'ok', 'busy']);
  expect(runs(workspace)).toBe(2);
  const { problems, values } = json(await wield(workspace, ['config', '--json']));
  expect(problems.map((problem: { message: string }) => problem.message)).toEqual([
    'line 1: a project cannot set middleware.1, so it is ignored',
    'line 5: a project cannot set middleware.2, so it is ignored',
  ]);
  const shown = values.filter(({ key }: { key: string }) => key.startsWith('middleware'));
  expect(shown).toMatchObject([
    { key: 'middleware.project.3', layer: 'project', line: 9 },
    { key: 'middleware.user.1', layer: 'user', line: 1 },
  ]);
});

spec('RUN-9', 'an entry that cannot be used denies, and says what is wrong', async () => {
  const wrong: Record<string, RegExp> = {
    'use = "memo"': /middleware\.1\.use must be "retry", "cache" or "rate-limit"/,
    'use = "retry"\ntries = 3': /unknown key "middleware\.2\.tries"/,
    'use = "retry"\natempts = 3': /unknown key "middleware\.3\.atempts"/,
    'use = "retry"\nwait = "soon"': /\.wait must be a duration/,
    'use = "cache"\nmax-bytes = 0': /\.max-bytes must be a size/,
    'use = "rate-limit"': /middleware\.6\.calls is missing/,
    'use = "rate-limit"\ncalls = 1\nper = "moon"': /\.per must be "tool", "group", "caller" or "all"/,
    'use = "cache"\nfor = "a("': /\.for cannot be used/,
    'use = "cache"\nfor = "a($deny)"': /\.for cannot be used/,
  };
  const workspace = createWorkspace();
  workspace.script('look', script('echo seen'));
  const good = entry('rate-limit', 'calls = 1\nevery = "1h"');
  workspace.config(
    `${Object.keys(wrong)
      .map((text) => `[[middleware]]\n${text}\n`)
      .join('')}${good}`,
  );
  const toolbox = workspace.toolbox();
  const problems = await toolbox.catalog.problems();
  const messages = problems.map((problem) => problem.message);
  expect(problems[2]!.hint).toBe('did you mean "attempts"?');
  expect(messages).toHaveLength(Object.keys(wrong).length);
  Object.values(wrong).forEach((pattern, at) => {
    expect(messages[at]).toMatch(pattern);
  });
  expect((await toolbox.call('look', {})).error).toMatchObject({ code: 'denied' });
});
