// Files of a newer version of wield are refused, and stay as they are.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { MODEL } from '../../support/ruled.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const COUNT = '#!/bin/sh\n# @description Counts.\necho 1\n';

/** A workspace in which each kind of file was written. */
async function used(): Promise<Workspace> {
  const workspace = createWorkspace();
  workspace.write('source/tools/count/count', COUNT, 0o755);
  workspace.write('source/tools/other/other', COUNT, 0o755);
  workspace.write('.cursor/mcp.json', '{}');
  for (const command of [
    'init',
    'add ./source',
    'install count --yes',
    'connect cursor --scope project --yes',
    'new gone',
    'remove gone',
  ]) {
    const { status, stderr } = await wield(workspace, command.split(' '));
    expect([command, stderr, status]).toEqual([command, expect.any(String), 0]);
  }
  return workspace;
}

const HOME_FILES: Readonly<Record<string, readonly string[]>> = {
  'trust.json': ['trust --list', 'trust --yes'],
  'installed.json': ['list --installed', 'upgrade --yes', 'uninstall count --yes'],
  'sources.json': ['add ./source', 'upgrade --yes'],
  'wield.lock': ['install other --yes', 'uninstall count --yes', 'upgrade --yes', 'mcp add up --yes -- node up.mjs'],
  'connect.json': ['connect cursor --scope project --undo --yes'],
};

describe.concurrent('a file of a newer version', () => {
  for (const [name, commands] of Object.entries(HOME_FILES))
    spec('STA-8', `${name} is refused and kept`, async () => {
      const workspace = await used();
      const file = join(workspace.home, '.wield', name);
      const newer = readFileSync(file, 'utf8').replace(/"version": ?1/, '"version":2');
      writeFileSync(file, newer);
      for (const command of commands) {
        const { ok, error } = json(await wield(workspace, ['--json', ...command.split(' ')]));
        expect([command, ok, error]).toEqual([
          command,
          false,
          expect.objectContaining({
            code: 'unavailable',
            message: `${file} was written by a newer version of wield`,
            hint: expect.stringContaining('update wield'),
          }),
        ]);
      }
      expect(readFileSync(file, 'utf8')).toBe(newer);
    });

  spec('STA-8 ERR-3', 'an installed tool is not called, and the error names the file once', async () => {
    const workspace = await used();
    const file = join(workspace.home, '.wield/installed.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"version":1', '"version":2'));
    const { error } = json(await wield(workspace, ['call', 'count', '--json']));
    expect(error.message).toBe(`count is not a tool: ${file} was written by a newer version of wield`);
  });

  spec('STA-8', 'pins are refused, so that an installed tool does not run', async () => {
    const workspace = await used();
    const pins = join(workspace.home, '.wield/pins');
    const [name = ''] = readdirSync(pins).filter((one) => one.endsWith('.json'));
    const newer = readFileSync(join(pins, name), 'utf8').replace('"version": 1', '"version": 2');
    writeFileSync(join(pins, name), newer);
    const { error } = json(await wield(workspace, ['call', 'count', '--json']));
    expect(error).toMatchObject({ code: 'unavailable', hint: expect.stringContaining('update wield') });
    expect(readFileSync(join(pins, name), 'utf8')).toBe(newer);
  });

  spec('STA-8', 'installed servers are not used, and doctor says why', async () => {
    const workspace = createWorkspace();
    await wield(workspace, ['init']);
    const file = join(workspace.home, '.wield/servers.json');
    const entry = { entry: { command: 'false' }, source: 'other', digest: 'x', accepted: 'x', files: [] };
    writeFileSync(file, JSON.stringify({ version: 2, servers: { other: entry } }));
    const { stdout } = await wield(workspace, ['doctor']);
    expect(stdout).toContain('was written by a newer version of wield');
    expect(stdout).toContain('update wield');
  });

  spec('STA-8', 'wield.lock is refused by a frozen install', async () => {
    const workspace = await used();
    const lock = workspace.write('wield.lock', '{ "version": 2, "sources": [] }');
    const { error } = json(await wield(workspace, ['install', '--frozen', '--yes', '--json']));
    expect(error).toMatchObject({ code: 'unavailable', message: `${lock} was written by a newer version of wield` });
  });

  spec('STA-8', 'a record of trust trusts nothing', async () => {
    const workspace = await used();
    const file = join(workspace.home, '.wield/trust.json');
    expect((await workspace.toolbox().call('hello', { name: 'Ada' }, { caller: MODEL })).ok).toBe(true);
    writeFileSync(file, readFileSync(file, 'utf8').replace('"version": 1', '"version": 2'));
    const { error } = await workspace.toolbox().call('hello', { name: 'Ada' }, { caller: MODEL });
    expect(error?.code).toBe('needs_trust');
  });

  spec('STA-8', 'a recording is not replayed', async () => {
    const workspace = createWorkspace();
    workspace.write('calls.jsonl', '{"type":"recording","version":2}\n');
    const { error } = json(await wield(workspace, ['replay', 'calls.jsonl', '--json', '--', 'true']));
    expect(error).toMatchObject({
      code: 'unavailable',
      message: 'calls.jsonl was written by a newer version of wield',
    });
  });

  spec('STA-8', 'the files of a removed tool are not brought back', async () => {
    const workspace = await used();
    const [entry = ''] = readdirSync(join(workspace.home, '.wield/removed'));
    const directory = join(workspace.home, '.wield/removed', entry);
    const [record = ''] = readdirSync(directory).filter((name) => name.endsWith('.json'));
    const file = join(directory, record);
    writeFileSync(file, readFileSync(file, 'utf8').replace('"version":1', '"version":2'));
    const { error } = json(await wield(workspace, ['remove', '--undo', '--json']));
    expect(error).toMatchObject({ code: 'unavailable' });
  });
});
