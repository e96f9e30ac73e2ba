// Configuration that may have been meant to restrict and is not understood: nothing runs (POL-9, SEL-3).

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { wield } from '../support/cli.js';
import { some } from '../support/effort.js';
import { spec } from '../support/spec.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

function createTools(): Workspace {
  const workspace = createWorkspace();
  workspace.script('x', '#!/bin/sh\n# @description Do something.\necho ran\n');
  return workspace;
}

const KEYS = [
  'ask = "x"',
  'deny = ["x"]',
  'confirm = true',
  'readonly = true',
  'disabled-tools = ["x"]',
  'tools = "none"',
  '[limits]\ncalls_per_minute = 1',
  '[limits]\ncallsPerMinute = 1',
  '[limits]\ncalls-per-minute = "1"',
  '[limits]\ntimeout = "soon"',
  '[limits]\nmemory = -1',
  '[limit]\ntimeout = "1s"',
  '[tools.x]\nenabled = false',
  '[tools.x]\npolicy = "deny"',
  '[tools.x]\ntimeout = "never"',
  '[mcp]\ndisable = ["a"]',
  '[profiles.a]\nask = "x"',
  '[[middleware]]\nuse = "deny"',
  '[[middleware]]\nuse = "rate_limit"\ncalls = 1',
  '[[middleware]]\nuse = "rate-limit"\ncalls = 0',
  '[[middlewares]]\nuse = "rate-limit"\ncalls = 1',
  '[[rules]]\ntool = "x"\npolicy = "deny"',
  '[network]\nallow = []',
  '[builtin]\ndisable = ["run_code"]',
  '[code]\ncall = 1',
  'paths = { ignore = "tools" }',
  '[sandbox.x]\nwrites = []',
];

const SELECTORS = [
  'x（$deny）',
  'x（deny）',
  '/x/($deny)',
  '/^x$/',
  '^x',
  '-x',
  '~x',
  '@x',
  '.*($deny)',
  'x=deny',
  'x=$deny',
  'x$deny',
  'x|y($deny)',
  'x;deny',
  "'x'($deny)",
  'x“$deny”',
  'x\u200b($deny)',
  'ｘ($deny)',
  'x\u00ad($deny)',
  '#Destructive($deny)',
  '#read_only($deny)',
  'x(a=b，$deny)',
  'x(＄policy=deny)',
  'x(a=b;$deny)',
];

describe('a key that is not understood', () => {
  for (const text of some(KEYS, 14)) {
    spec('POL-9', `denies: ${JSON.stringify(text)}`, async () => {
      const workspace = createTools();
      workspace.config(`${text}\n`);
      const run = await wield(workspace, ['call', 'x']);
      expect([run.status === 0, run.stdout]).toEqual([false, '']);
      expect(run.stderr).toMatch(/config\.toml:\d+/);
    });
  }

  spec('POL-9', 'denies in the file of a project too', async () => {
    const workspace = createTools();
    workspace.write('.agents/config.toml', 'ask = "x"\n');
    const run = await wield(workspace, ['call', 'x']);
    expect([run.status === 0, run.stdout]).toEqual([false, '']);
  });

  spec('POL-9', 'is a problem in a table that restricts nothing', async () => {
    const workspace = createTools();
    workspace.config('[results]\nkeeep = "1d"\n\n[model]\nnme = "x"\n');
    expect((await wield(workspace, ['call', 'x'])).stdout).toBe('ran\n');
  });

  spec('POL-9', 'names the key that was probably meant', async () => {
    const workspace = createTools();
    workspace.config('[limits]\ncalls_per_minute = 1\n');
    expect((await wield(workspace, ['call', 'x'])).stderr).toContain('did you mean limits.calls-per-minute?');
  });
});

describe('a selector that matches nothing', () => {
  for (const text of some(SELECTORS, 12)) {
    spec('SEL-3 POL-9', `denies: ${JSON.stringify(text)}`, async () => {
      for (const key of ['allowed-tools', 'trust.rules']) {
        const workspace = createTools();
        mkdirSync(workspace.env.WIELD_HOME!, { recursive: true });
        const value = JSON.stringify(['*', text]);
        writeFileSync(join(workspace.env.WIELD_HOME!, 'config.toml'), `${key} = ${value}\n`);
        const run = await wield(workspace, ['call', 'x']);
        expect([key, run.status === 0, run.stdout]).toEqual([key, false, '']);
        expect(run.stderr).toContain('config.toml');
      }
    });
  }

  spec('SEL-3', 'can be written with a backslash', async () => {
    const workspace = createTools();
    workspace.config('allowed-tools = ["*", "a\\\\=b($deny)", "\\\\/x($deny)"]\n');
    expect((await wield(workspace, ['call', 'x'])).stdout).toBe('ran\n');
  });
});
