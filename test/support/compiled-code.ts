// Compiled code of the binary, made by the first test that starts one after a build, and copied into the home of each test.
// Otherwise every test that starts processes compiles it again.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
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
    const to = join(wieldHome, 'cache/code');
    if (!existsSync(to)) cpSync(findCode(), to, { recursive: true });
  } catch {
    // Another worker is making it, or the test made the home unusable on purpose.
  }
}

// Throws while another worker is making it.
function findCode(): string {
  // The binary names its files by their hashes, and compiled code is for one build, known by its time.
  const { mtimeMs } = statSync(binary());
  const build = createHash('sha256').update(readFileSync(binary())).update(`${mtimeMs}`).digest('hex').slice(0, 16);
  const directory = join(CACHE, `${PREFIX}${build}`);
  const code = join(directory, 'code');
  if (!existsSync(code)) {
    mkdirSync(directory);
    compile(join(directory, 'next'));
    renameSync(join(directory, 'next'), code);
    for (const name of readdirSync(CACHE))
      if (name.startsWith(PREFIX) && join(CACHE, name) !== directory) rmSync(join(CACHE, name), { recursive: true });
  }
  return code;
}

// Runs the commands that have code of their own, in a home outside this checkout, where no state may be.
function compile(to: string): void {
  const home = mkdtempSync(join(tmpdir(), 'wield-code-'));
  try {
    // A tool of the user, which needs no trust.
    mkdirSync(join(home, '.agents/tools'), { recursive: true });
    const script = '#!/bin/sh\n# @description Say hello.\necho hello\n';
    writeFileSync(join(home, '.agents/tools/hello'), script, { mode: 0o755 });
    const env = { PATH: process.env.PATH, HOME: home };
    const input = MESSAGES.map((message) => `${JSON.stringify(message)}\n`).join('');
    for (const args of [['list'], ['call', 'hello'], ['serve'], ['doctor']])
      spawnSync(process.execPath, [binary(), ...args], { cwd: home, env, input });
    cpSync(join(home, '.wield/cache/code'), to, { recursive: true });
  } finally {
    rmSync(home, { recursive: true });
  }
}
