// Compiled code of the binary, made by the first test that starts one after a build, and copied into the home of each test.
// Otherwise every test that starts processes compiles it again.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { binary } from './built.js';

const CACHE = join(import.meta.dirname, '../../node_modules/.cache');
const PREFIX = 'compiled-';
const request = (id: number, method: string, params: object) => ({ jsonrpc: '2.0', id, method, params });
const MESSAGES = [
  request(1, 'initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  }),
  request(2, 'tools/list', {}),
  request(3, 'tools/call', { name: 'hello', arguments: {} }),
];

let isUsed = true;

/** Lets the tests of a file begin with an empty cache. */
export function startWithoutCompiledCode(): void {
  beforeAll(() => {
    isUsed = false;
  });
  afterAll(() => {
    isUsed = true;
  });
}

/** Copies the compiled code into a home before its first process starts. */
export function copyCompiledCode(wieldHome: string | undefined): void {
  if (!isUsed || wieldHome === undefined) return;
  try {
    const from = findCode();
    for (const version of readdirSync(from)) {
      const to = join(wieldHome, 'cache/code', version);
      mkdirSync(to, { recursive: true, mode: 0o700 });
      for (const name of readdirSync(join(from, version))) copyFileSync(join(from, version, name), join(to, name));
    }
  } catch {
    // The home has code already, another worker is making it, or the test made it unusable on purpose.
  }
}

// Throws while another worker is making it.
function findCode(): string {
  // The binary contains the hash of all its files.
  const build = createHash('sha256').update(readFileSync(binary())).digest('hex').slice(0, 16);
  const directory = join(CACHE, `${PREFIX}${build}`);
  if (statSync(join(directory, 'code'), { throwIfNoEntry: false }) === undefined) {
    mkdirSync(directory);
    renameSync(compile(), join(directory, 'code'));
    for (const name of readdirSync(CACHE))
      if (name.startsWith(PREFIX) && join(CACHE, name) !== directory) rmSync(join(CACHE, name), { recursive: true });
  }
  return join(directory, 'code');
}

// Runs the commands that have code of their own twice: the first run writes the index that the second one reads.
function compile(): string {
  const home = mkdtempSync(join(CACHE, 'home-'));
  try {
    // A tool of the user, which needs no trust.
    mkdirSync(join(home, '.agents/tools'), { recursive: true });
    const script = '#!/bin/sh\n# @description Say hello.\necho hello\n';
    writeFileSync(join(home, '.agents/tools/hello'), script, { mode: 0o755 });
    const env = { PATH: process.env.PATH, HOME: home, WIELD_HOME: join(home, '.wield') };
    const input = MESSAGES.map((message) => `${JSON.stringify(message)}\n`).join('');
    for (const args of [['list'], ['call', 'hello'], ['serve']])
      for (let run = 0; run < 2; run++) {
        const { status } = spawnSync(process.execPath, [binary(), ...args], { cwd: tmpdir(), env, input });
        if (status !== 0) throw new Error(`wield ${args.join(' ')} exited with ${status}`);
      }
    const code = join(CACHE, `code-${process.pid}`);
    renameSync(join(home, '.wield/cache/code'), code);
    return code;
  } finally {
    rmSync(home, { recursive: true });
  }
}
