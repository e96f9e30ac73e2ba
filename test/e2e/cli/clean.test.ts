// `wield config` and `wield clean`.

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { json, wieldProcess } from '../../support/cli.js';
import { startWithoutCompiledCode } from '../../support/compiled-code.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

startWithoutCompiledCode();

spec.thorough('CLI-15', 'clean removes caches only, and --dry-run lists them', async () => {
  const workspace = createWorkspace();
  for (let index = 0; index < 20; index++) {
    workspace.script(`t${index}`, `#!/bin/sh\n# @description Tool ${index}.\necho ${index}\n`);
  }
  workspace.config('[limits]\ntimeout = "9s"\n');
  await wieldProcess(workspace, ['trust', '--yes']);
  await wieldProcess(workspace, ['list']);
  const cache = join(workspace.env.WIELD_HOME!, 'cache', 'index');
  expect(readdirSync(cache)).toHaveLength(1);

  const planned = json(await wieldProcess(workspace, ['clean', '--dry-run', '--json']));
  expect(planned).toMatchObject({
    ok: true,
    dryRun: true,
    removed: expect.arrayContaining(
      [cache, join('cache', 'code')].map((path) => ({
        path: expect.stringContaining(path),
        bytes: expect.any(Number),
      })),
    ),
  });
  expect(readdirSync(cache)).toHaveLength(1);

  expect((await wieldProcess(workspace, ['clean'])).stdout).toMatch(/removed {2}\d+ files, /);
  expect(readdirSync(cache)).toEqual([]);
  expect((await wieldProcess(workspace, ['clean'])).stdout).toContain('nothing to remove');
  for (const kept of ['trust.json', 'config.toml']) {
    expect(existsSync(join(workspace.env.WIELD_HOME!, kept))).toBe(true);
  }
  expect(json(await wieldProcess(workspace, ['list', '--json'])).tools).toHaveLength(20);
});

spec('CLI-15', 'config shows each value with its file and line', async () => {
  const workspace = createWorkspace();
  workspace.config('# mine\n[limits]\ntimeout = "9s"\n');
  const { values } = json(await wieldProcess(workspace, ['config', '--json']));
  expect(values).toContainEqual({
    key: 'limits.timeout',
    value: 9000,
    shown: '"9s"',
    layer: 'user',
    file: join(workspace.env.WIELD_HOME!, 'config.toml'),
    line: 3,
  });
  expect((await wieldProcess(workspace, ['config'])).stdout).toMatch(/limits\.timeout +"9s" +.*config\.toml:3/);
});
