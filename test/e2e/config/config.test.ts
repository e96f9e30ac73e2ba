// The layered configuration through the binary: what holds, what narrows, what is wrong.

import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { serveHere } from '../../support/serve.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const GREET = '#!/bin/sh\n# @description Greet.\necho "hi $SECRET"\n';

function createTools(): Workspace {
  const workspace = createWorkspace();
  workspace.script('greet', GREET);
  return workspace;
}

describe('layers', () => {
  spec('POL-11', "a project's file narrows the user's and never widens it", async () => {
    const workspace = createTools();
    workspace.script('slow', '#!/bin/sh\n# @description Wait.\nsleep 30\n');
    workspace.config('[limits]\ntimeout = "20s"\n[env]\npass = []\n');
    workspace.write('.agents/config.toml', '[limits]\ntimeout = "300ms"\n[env]\npass = ["SECRET"]\n');
    const narrowed = json(await wield(workspace, ['call', 'slow', '--json']));
    expect(narrowed.error).toMatchObject({ code: 'timeout', data: { timeoutMs: 300 } });
    const greeted = await wield(workspace, ['call', 'greet'], { env: { SECRET: 'leaked' } });
    expect(greeted.stdout).toBe('hi \n');
    workspace.config('[limits]\ntimeout = "200ms"\n[env]\npass = ["SECRET"]\n');
    workspace.write('.agents/config.toml', '[limits]\ntimeout = "1h"\n');
    const bounded = json(await wield(workspace, ['call', 'slow', '--json']));
    expect(bounded.error).toMatchObject({ code: 'timeout', data: { timeoutMs: 200 } });
    const passed = await wield(workspace, ['call', 'greet'], { env: { SECRET: 'given' } });
    expect(passed.stdout).toBe('hi given\n');
  });

  spec('POL-11', 'a running server sees a changed file at the next call', async () => {
    const workspace = createTools();
    workspace.script('slow', '#!/bin/sh\n# @description Wait.\nsleep 30\n');
    const server = serveHere(workspace);
    await server.initialize();
    workspace.config('[limits]\ntimeout = "200ms"\n');
    const { result } = await server.request(1, 'tools/call', { name: 'slow', arguments: {} });
    expect(result._meta['wield/error']).toMatchObject({ code: 'timeout', data: { timeoutMs: 200 } });
  });
});

describe('wield config', () => {
  spec('POL-11', 'shows each value with file and line, as text and as JSON', async () => {
    const workspace = createTools();
    workspace.config('[limits]\n# a minute\ntimeout = "1m"\n');
    const user = join(workspace.env.WIELD_HOME!, 'config.toml');
    const project = workspace.write('.agents/config.toml', '\n\n[limits]\noutput = "1M"\n');
    const text = await wield(workspace, ['config']);
    expect(text.status).toBe(0);
    expect(text.stdout).toMatch(new RegExp(`limits\\.timeout +"1m" +${user}:3`));
    expect(text.stdout).toMatch(new RegExp(`limits\\.output +"1M" +${project}:4`));
    expect(text.stdout).toMatch(/limits\.queue +1000 +default/);
    const { ok, values, problems, fault } = json(await wield(workspace, ['config', '--json']));
    expect({ ok, problems, fault }).toEqual({ ok: true, problems: [], fault: null });
    const entry = (key: string) => values.find((one: { key: string }) => one.key === key);
    expect(entry('limits.timeout')).toMatchObject({ value: 60_000, layer: 'user', file: user, line: 3 });
    expect(entry('limits.output')).toMatchObject({ value: 1024 * 1024, layer: 'project', line: 4 });
  });
});

describe('what is wrong', () => {
  test('an unknown key or a value of the wrong kind is a problem, and tools still run', async () => {
    const workspace = createTools();
    workspace.config('[results]\nkep = "1m"\ntotal = "many"\n');
    const { problems, fault } = json(await wield(workspace, ['config', '--json']));
    expect(fault).toBeNull();
    expect(problems).toMatchObject([
      { message: expect.stringContaining('line 2: unknown key "results.kep"') },
      { message: expect.stringContaining('line 3: results.total must be') },
    ]);
    expect(problems[0].hint).toContain('results.keep');
    expect((await wield(workspace, ['call', 'greet'])).status).toBe(0);
    const doctor = await wield(workspace, ['doctor']);
    expect(doctor.status).toBe(1);
    expect(doctor.stdout).toContain('results.kep');
  });

  for (const layer of ['user', 'project'] as const) {
    test(`a file of the ${layer} that does not parse denies every call and says where`, async () => {
      const workspace = createTools();
      const bad = 'repair = true\n[limits\ntimeout = "1m"\n';
      if (layer === 'user') workspace.config(bad);
      else workspace.write('.agents/config.toml', bad);
      const file = layer === 'user' ? join(workspace.env.WIELD_HOME!, 'config.toml') : '.agents/config.toml';
      const called = json(await wield(workspace, ['call', 'greet', '--json']));
      expect(called.error.code).toBe('denied');
      expect(called.error.message).toContain(`${file}:2`);
      expect((await wield(workspace, ['list'])).stdout).toContain('greet');
      const shown = await wield(workspace, ['config']);
      expect(shown.stderr).toContain('calls are blocked');
      expect(json(await wield(workspace, ['config', '--json'])).fault).toContain(`${file}:2`);
    });
  }

  test('a file that cannot be read denies, and so does a link that leads nowhere', async () => {
    const workspace = createTools();
    workspace.write('.agents/config.toml/inside', '');
    expect(json(await wield(workspace, ['call', 'greet', '--json'])).error.code).toBe('denied');
    const other = createTools();
    symlinkSync('config.toml', join(other.dir, '.agents/config.toml'));
    expect(json(await wield(other, ['call', 'greet', '--json'])).error.code).toBe('denied');
    const large = createTools();
    writeFileSync(join(large.dir, '.agents/config.toml'), Buffer.alloc(5 * 1024 * 1024, 0x20));
    expect(json(await wield(large, ['call', 'greet', '--json'])).error.code).toBe('denied');
  });
});
