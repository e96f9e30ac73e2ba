// Compiled code of the built CLI, made once per test run and linked into the home of each test. Otherwise every test
// that starts processes compiles it again.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';

/** Names the directory of the compiled code; without it, tests start with an empty cache. */
const CODE_VARIABLE = 'WIELD_TEST_CODE';
const BINARY = fileURLToPath(new URL('../../dist/cli/wield.cjs', import.meta.url));
const request = (id: number, method: string, params: object) => ({ jsonrpc: '2.0', id, method, params });
const INITIALIZE = request(1, 'initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
});

/** Vitest's global setup: runs the commands that have code of their own twice, and returns the teardown. */
export async function setup(): Promise<() => void> {
  // Set by runs of a few tests, which are faster without.
  if (process.env[CODE_VARIABLE] !== undefined) return () => {};
  const root = mkdtempSync(join(tmpdir(), 'wield-code-'));
  const home = join(root, 'home');
  const cwd = join(root, 'project');
  mkdirSync(cwd);
  // A tool of the user, which needs no trust.
  mkdirSync(join(home, '.agents/tools'), { recursive: true });
  const script = '#!/bin/sh\n# @description Say hello.\necho hello\n';
  writeFileSync(join(home, '.agents/tools/hello'), script, { mode: 0o755 });
  const env = { PATH: process.env.PATH, HOME: home, WIELD_HOME: join(home, '.wield') };
  const run = async (
    args: readonly string[],
    use: (child: ChildProcessWithoutNullStreams) => unknown,
  ): Promise<void> => {
    const child = spawn(process.execPath, [BINARY, ...args], { cwd, env });
    const exited = once(child, 'exit').then(([status]) => {
      if (status !== 0) throw new Error(`wield ${args.join(' ')} exited with ${status}`);
    });
    // A process that exits early sends nothing more.
    await Promise.race([use(child), exited]);
    await exited;
  };
  for (let round = 0; round < 2; round++) {
    await run(['list'], (child) => child.stdin.end());
    await run(['call', 'hello'], (child) => child.stdin.end());
    await run(['serve'], async (child) => {
      child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
      await once(child.stdout, 'data');
      child.stdin.write(`${JSON.stringify(request(2, 'tools/list', {}))}\n`);
      await once(child.stdout, 'data');
      child.stdin.end(`${JSON.stringify(request(3, 'tools/call', { name: 'hello', arguments: {} }))}\n`);
    });
    await run(['serve', '--http', '0'], async (child) => {
      const [address] = await once(child.stdout, 'data');
      const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
      const answer = await fetch(String(address).trim(), { method: 'POST', headers, body: JSON.stringify(INITIALIZE) });
      await answer.text();
      child.kill('SIGTERM');
    });
  }
  process.env[CODE_VARIABLE] = join(home, '.wield/cache/code');
  return () => rmSync(root, { recursive: true, force: true });
}

/** Lets the tests of a file begin with an empty cache. */
export function startWithoutCompiledCode(): void {
  const shared = process.env[CODE_VARIABLE];
  beforeAll(() => {
    delete process.env[CODE_VARIABLE];
  });
  afterAll(() => {
    if (shared !== undefined) process.env[CODE_VARIABLE] = shared;
  });
}

/** Links the compiled code into a home before its first process starts. */
export function linkCompiledCode(wieldHome: string | undefined): void {
  const from = process.env[CODE_VARIABLE];
  if (from === undefined || wieldHome === undefined) return;
  try {
    for (const version of readdirSync(from)) {
      const to = join(wieldHome, 'cache/code', version);
      mkdirSync(to, { recursive: true, mode: 0o700 });
      for (const name of readdirSync(join(from, version))) linkSync(join(from, version, name), join(to, name));
    }
  } catch {
    // The home has code already, or the test made it unusable on purpose.
  }
}
