// A tool that kills wield: what ran is recorded all the same (OBS-8).

import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { logDirectory, logFiles, logRecords, logText } from '../support/audit.js';
import { binary } from '../support/built.js';
import { json, wield } from '../support/cli.js';
import { shellScript } from '../support/shell-script.js';
import { spec } from '../support/spec.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

// Waits for the id of the process, and kills it.
const KILLER = shellScript(
  'touch ran\nfor i in $(seq 200); do [ -s pid ] && break; sleep 0.05; done\nkill -9 "$(cat pid)"',
);

async function callKiller(workspace: Workspace): Promise<number> {
  workspace.script('killer', KILLER);
  const child = spawn(process.execPath, [binary(), 'call', 'killer'], {
    cwd: workspace.dir,
    env: workspace.env,
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  workspace.write('pid', String(child.pid));
  await ended;
  return child.pid!;
}

spec('OBS-8', 'a call whose process its tool kills is recorded as interrupted', async () => {
  const workspace = createWorkspace();
  workspace.config('[audit]\nrequired = true\n');
  const pid = await callKiller(workspace);
  expect(logRecords(workspace)).toEqual([]);
  const { records, skipped } = json(await wield(workspace, ['audit', '--json']));
  expect(skipped).toBe(0);
  expect(records).toMatchObject([
    { tool: 'killer', pid, interrupted: true, code: 'cancelled', verdict: 'allow', workdir: workspace.dir },
  ]);
  expect((await wield(workspace, ['audit'])).stdout).toMatch(/killer +interrupted/);
  // Another process was killed while it wrote the line before.
  const [file] = logFiles(workspace);
  writeFileSync(file!, `{"time":"2026-11-18T00:00:00.000Z","to${logText(workspace)}`);
  const joined = json(await wield(workspace, ['audit', '--json']));
  expect(joined).toMatchObject({ skipped: 1, records: [{ tool: 'killer', pid, interrupted: true }] });
});

spec('OBS-8 OBS-3', 'an interrupted call stays where it was, also if its process id is used again', async () => {
  const workspace = createWorkspace();
  const pid = await callKiller(workspace);
  workspace.script('greet', shellScript('echo hi'));
  for (let at = 0; at < 3; at++) await wield(workspace, ['call', 'greet']);
  const [file] = logFiles(workspace);
  const [first, ...rest] = logText(workspace).trim().split('\n');
  const { since, call } = JSON.parse(first!);
  const again = rest.map((line) => ({ ...JSON.parse(line), pid, call, since: since + 1 }));
  writeFileSync(file!, [first, ...again.map((line) => JSON.stringify(line)), ''].join('\n'));
  const toolsOf = async (...args: string[]) =>
    json(await wield(workspace, ['audit', '--json', ...args])).records.map(({ tool }: { tool: string }) => tool);
  expect(await toolsOf()).toEqual(['killer', 'greet', 'greet', 'greet']);
  expect(await toolsOf('--limit', '1')).toEqual(['greet']);
});

spec('STA-5 OBS-7', 'what is not a file in the place of one is named, and a required record is refused', async () => {
  const workspace = createWorkspace();
  workspace.config('[audit]\nrequired = true\n');
  workspace.script('greet', shellScript('touch ran'));
  for (const name of ['000001.chains', '000001.jsonl']) {
    rmSync(logDirectory(workspace), { recursive: true, force: true });
    mkdirSync(join(logDirectory(workspace), name), { recursive: true, mode: 0o700 });
    if (name.endsWith('.chains')) writeFileSync(join(logDirectory(workspace), '000001.jsonl'), '', { mode: 0o600 });
    expect(await wield(workspace, ['call', 'greet'])).toMatchObject({
      status: 8,
      stderr: expect.stringContaining('nothing was run'),
    });
    const checked = await wield(workspace, ['audit', '--verify']);
    expect([checked.status, checked.stderr]).toEqual([8, expect.stringContaining(`${name}: it is not a regular file`)]);
    expect((await wield(workspace, ['doctor'])).stdout).toContain('the audit log in');
  }
  expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
});

spec('OBS-8', 'a call that ended is one record, and its line of the start has no contents', async () => {
  const workspace = createWorkspace();
  workspace.config('[audit]\ncontents = true\n');
  workspace.script('greet', shellScript('echo hi'));
  await wield(workspace, ['call', 'greet']);
  const [first, second] = logText(workspace)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(first).toMatchObject({ started: expect.any(String), tool: 'greet', call: second.call, pid: second.pid });
  expect([first.input, second.input]).toEqual([undefined, {}]);
  expect(json(await wield(workspace, ['audit', '--json'])).records).toMatchObject([{ tool: 'greet', code: null }]);
});

spec('OBS-8 OBS-7', 'nothing runs if the line of the start is required and cannot be written', async () => {
  const workspace = createWorkspace();
  workspace.config('[audit]\nrequired = true\n');
  workspace.script('greet', shellScript('touch ran'));
  const directory = logDirectory(workspace);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  writeFileSync(join(directory, '000001.jsonl'), '');
  chmodSync(join(directory, '000001.jsonl'), 0o666);
  const { status, stderr } = await wield(workspace, ['call', 'greet']);
  expect([status, stderr]).toEqual([8, expect.stringContaining('nothing was run')]);
  expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
});
