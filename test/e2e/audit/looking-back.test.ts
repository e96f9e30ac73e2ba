// Looking back: records of a session, and sums of the log by tool and user.

import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { logRecords } from '../../support/audit.js';
import { json, wield } from '../../support/cli.js';
import { tool } from '../../support/ruled.js';
import { serveHere } from '../../support/serve.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const RECORD = {
  pid: 1,
  call: 'c1',
  parent: null,
  depth: 0,
  caller: 'mcp:cursor',
  kind: 'model',
  door: 'mcp',
  tool: 'deploy',
  verdict: 'allow',
  code: null,
  durationMs: 10,
  inputBytes: 40,
  outputBytes: 400,
  handle: null,
};

function withLog(records: readonly object[]): Workspace {
  const workspace = createWorkspace();
  const directory = join(workspace.env.WIELD_HOME!, 'audit');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const lines = records.map((record, at) => ({ time: `2026-11-1${at % 10}T09:00:00.000Z`, ...RECORD, ...record }));
  writeFileSync(join(directory, '000001.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''), {
    mode: 0o600,
  });
  return workspace;
}

describe.concurrent('a session', () => {
  spec('OBS-17', 'is in every record: of a connection, of a command, and of a program', async () => {
    const workspace = createWorkspace();
    workspace.script('greet', shellScript('echo hello'));
    const server = serveHere(workspace);
    await server.initialize();
    for (const id of [1, 2]) await server.request(id, 'tools/call', { name: 'greet', arguments: {} });
    await server.close();
    for (const _ of [1, 2]) await wield(workspace, ['call', 'greet']);
    const toolbox = workspace.toolbox({ tools: [tool('look')] });
    for (const _ of [1, 2]) await toolbox.call('look', {});
    await toolbox.close();
    const sessions = logRecords(workspace).map(({ session }) => String(session));
    expect(sessions).toHaveLength(6);
    const [first, second, command, other, program, again] = sessions;
    expect(first).toMatch(/^[\da-z]+-[\da-z]+$/);
    expect(second).toBe(first);
    expect(again).toBe(program);
    expect(command).toMatch(/^\d+-[\da-z]+$/);
    expect(new Set([first, command, other, program]).size).toBeGreaterThanOrEqual(3);
    const shown = json(await wield(workspace, ['audit', '--session', first!.slice(0, 8), '--json']));
    expect(shown.records).toHaveLength(2);
    expect(json(await wield(workspace, ['audit', '--session', 'nothing', '--json'])).records).toEqual([]);
  });
});

describe.concurrent('wield audit --stats', () => {
  spec('OBS-17', 'adds calls up by tool and user, as far as they match', async () => {
    const workspace = withLog([
      ...Array.from({ length: 100 }, (_, at) => ({ call: `c${at}`, durationMs: at + 1, user: 'ada' })),
      { call: 'd1', tool: 'wipe', verdict: 'deny', code: 'denied', durationMs: 1, user: 'bob', outputBytes: 0 },
      { call: 'd2', tool: 'wipe', verdict: 'ask', code: 'needs_approval', durationMs: 1, user: 'bob', outputBytes: 0 },
      { call: 'd3', tool: 'wipe', code: 'tool_failed', durationMs: 7, outputBytes: 1_000_000, handle: 'r1' },
      { call: 'd4', tool: 'inner', depth: 1, parent: 'd3', user: 'ada' },
    ]);
    appendFileSync(join(workspace.env.WIELD_HOME!, 'audit', '000001.jsonl'), '{"time":"partial');
    const stats = json(await wield(workspace, ['audit', '--stats', '--json']));
    expect(stats).toMatchObject({ ok: true, skipped: 1, total: { calls: 104, refused: 2, failed: 1 } });
    expect(stats.tools.map(({ name }: { name: string }) => name)).toEqual(['deploy', 'wipe', 'inner']);
    expect(stats.tools[0]).toEqual({
      name: 'deploy',
      calls: 100,
      refused: 0,
      failed: 0,
      p50Ms: 50,
      p99Ms: 99,
      inputTokens: 1000,
      resultTokens: 10_000,
    });
    // Refused calls did not run. Of a stored result, only the beginning was sent.
    expect(stats.tools[1]).toMatchObject({ calls: 3, refused: 2, failed: 1, p50Ms: 7, p99Ms: 7, resultTokens: 250 });
    const users = stats.users.map(({ name, calls }: { name: string; calls: number }) => [name, calls]);
    expect(users).toEqual([
      ['ada', 100],
      ['bob', 2],
      ['mcp:cursor', 1],
    ]);
    const ofBob = json(await wield(workspace, ['audit', '--stats', '--user', 'bob', '--json']));
    expect(ofBob.total).toMatchObject({ calls: 2, refused: 2, p50Ms: null });
    const text = (await wield(workspace, ['audit', '--stats'])).stdout;
    expect(text).toMatch(/TOOL +CALLS +REFUSED +FAILED +P50 +P99/);
    expect(text).toMatch(/deploy +100 +0 +0 +50 ms +99 ms/);
    expect(text).toMatch(/USER +CALLS/);
    const refused = await wield(workspace, ['audit', '--stats', '--follow']);
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('--since limits them')]);
    expect((await wield(workspace, ['audit', '--stats', '--tool', 'none'])).stdout).toBe('No matching calls.\n');
  });
});
