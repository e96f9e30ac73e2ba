// Errors of the machine are said as such, and files that decide something are refused if they are ambiguous.

import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { toToolError } from '../../src/core/error.js';
import { binary } from '../support/built.js';
import { wield } from '../support/cli.js';
import { canMount } from '../support/mounts.js';
import { onEnd } from '../support/share.js';
import { spec, specIf } from '../support/spec.js';
import { trustNow } from '../support/trusted.js';
import { createWorkspace } from '../support/workspace.js';

const TOOL = '#!/bin/sh\n# @description Say hi.\necho hi\n';

specIf(canMount(), 'needs to mount', 'CLI-14 STA-5', 'doctor diagnoses a read-only wield home', () => {
  const workspace = createWorkspace();
  workspace.script('x', TOOL);
  const home = workspace.env.WIELD_HOME!;
  mkdirSync(home, { mode: 0o700 });
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'ro,mode=0700', 'none', home]);
  onEnd(() => spawnSync('umount', [home]));
  const { status, stdout, stderr } = spawnSync(process.execPath, [binary(), 'doctor'], {
    cwd: workspace.dir,
    env: workspace.env,
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([1, '']);
  expect(stdout).toMatch(/problem .*read-only file system/s);
  expect(stdout).toMatch(/ok +tools +1 tool/);
});

spec('ERR-6', 'errors of the machine are no bugs', () => {
  for (const code of ['EMFILE', 'ENFILE', 'ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM', 'EIO', 'ENOMEM']) {
    const thrown = Object.assign(new Error(`${code}: failed, open '/x'`), { code, errno: -1, syscall: 'open' });
    const { code: found, hint } = toToolError(thrown);
    expect([code, found, hint !== undefined && !hint.includes('bug')]).toEqual([code, 'io', true]);
  }
  expect(toToolError(new TypeError('x is not a function')).code).toBe('internal');
});

spec('ERR-6', 'a command with few descriptors says so', () => {
  const workspace = createWorkspace();
  workspace.script('x', TOOL);
  for (const limit of [24, 28, 32]) {
    const { stdout, stderr } = spawnSync(
      'sh',
      ['-c', `ulimit -n ${limit}; exec "$0" "$@"`, process.execPath, binary(), 'call', 'x'],
      {
        cwd: workspace.dir,
        env: workspace.env,
        encoding: 'utf8',
      },
    );
    expect([limit, stderr.includes('bug in wield'), stdout === 'hi\n' || stderr.includes('hint')]).toEqual([
      limit,
      false,
      true,
    ]);
  }
});

describe('a key that is there twice', () => {
  spec('STA-7', 'makes wield.lock invalid', async () => {
    const workspace = createWorkspace();
    workspace.write('wield.lock', '{\n  "version": 1,\n  "sources": [],\n  "sources": []\n}\n');
    for (const verb of [['verify'], ['install', '--yes', '--frozen']]) {
      const { status, stderr } = await wield(workspace, verb);
      expect([verb, status === 0]).toEqual([verb, false]);
      expect(stderr).toMatch(/wield\.lock:4: has the key "sources" twice/);
    }
  });

  spec('STA-7', 'makes the record of trust invalid', async () => {
    const workspace = createWorkspace();
    workspace.script('x', TOOL);
    trustNow(workspace);
    const file = join(workspace.env.WIELD_HOME!, 'trust.json');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace('{', '{"workspaces":[],'));
    expect(workspace.toolbox().state.trust.isTrusted(workspace.dir)).toBe(false);
    const { status, stderr } = await wield(workspace, ['trust', '--list']);
    expect([status === 0, stderr]).toEqual([
      false,
      expect.stringContaining('trust.json:1: has the key "workspaces" twice'),
    ]);
  });

  spec('STA-7', 'makes a file of servers invalid', async () => {
    const workspace = createWorkspace();
    mkdirSync(join(workspace.home, '.agents'));
    const file = join(workspace.home, '.agents', 'mcp.json');
    writeFileSync(file, '{"mcpServers":{"a":{"command":"true"}},\n"mcpServers":{"b":{"command":"true"}}}', {
      mode: 0o600,
    });
    const { stdout, status } = await wield(workspace, ['doctor']);
    expect(status).toBe(1);
    expect(stdout).toMatch(/mcpServers.*twice/);
  });
});
