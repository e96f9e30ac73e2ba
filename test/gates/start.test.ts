// Gate: `npm start` does what it promises, and frequent commands load only what they need.

import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { built } from '../support/built.js';
import { wieldProcess as wield } from '../support/cli.js';
import { ROOT } from '../support/documents.js';
import { connectToPage } from '../support/page.js';
import { patience } from '../support/patience.js';
import { finding, spec } from '../support/spec.js';
import { removeAll } from '../support/temporary.js';
import { createWorkspace } from '../support/workspace.js';

const HOOK = fileURLToPath(new URL('../support/loaded-chunks.cjs', import.meta.url));

const HELLO = `#!/bin/sh
# @description Says hello.
# @param *name string Whom to greet.
echo "hello $WIELD_PARAM_NAME"
`;

// Words of code that is loaded only when it is needed.
const LATE = {
  OAuth: 'code_verifier',
  zod: 'invalid_union',
  installers: 'marketplace.json',
  clients: 'claude_desktop_config',
};
// Modules of Node that take milliseconds to load.
const HEAVY = /require\("node:(?:child_process|crypto|http|https|net|zlib)"\)/;

/** Returns the names of the files of the binary, and of the packages, that a command loads. */
async function loadedBy(args: readonly string[], stdin = ''): Promise<readonly string[]> {
  const workspace = createWorkspace();
  workspace.script('hello', HELLO);
  const loaded = join(workspace.home, 'loaded');
  const env = { NODE_OPTIONS: `--require "${HOOK}"`, LOADED_CHUNKS: loaded };
  expect(await wield(workspace, args, { env, stdin })).toMatchObject({ status: 0, stderr: '' });
  return readFileSync(loaded, 'utf8').split('\n');
}

/** Returns the parts of the binary that are in one of the files. */
function findParts(files: readonly string[]): string[] {
  const text = files.map((name) => readFileSync(built(`cli/${name}`), 'utf8')).join('');
  return Object.entries(LATE).flatMap(([part, word]) => (text.includes(word) ? [part] : []));
}

test.each(['version', '--help'])('wield %s loads nothing of the runtime', async (word) => {
  const names = await loadedBy([word]);
  expect(names.filter((name) => !/^(?:wield|(?:start|help)-[\w-]+|rolldown-runtime-[\w-]+)\.cjs$/.test(name))).toEqual(
    [],
  );
});

test('wield list and call load no servers, installers, packages or heavy modules of Node at their start', async () => {
  expect(findParts(readdirSync(built('cli')))).toEqual(Object.keys(LATE));
  for (const args of [['list'], ['call', 'hello', '--name', 'Ada']]) {
    const files = await loadedBy(args);
    expect(findParts(files)).toEqual([]);
    expect(files.filter((name) => HEAVY.test(readFileSync(built(`cli/${name}`), 'utf8')))).toEqual([]);
  }
});

spec('SRV-60', 'wield serve loads neither the SDK nor what only other commands need', async () => {
  const client = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'gate', version: '1' } };
  const messages = [
    { id: 1, method: 'initialize', params: client },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/list' },
    { id: 3, method: 'tools/call', params: { name: 'hello', arguments: { name: 'Ada' } } },
    { id: 4, method: 'ping' },
  ];
  const stdin = messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('');
  const names = await loadedBy(['serve', '--trust'], stdin);
  expect(names.filter((name) => !name.endsWith('.cjs'))).toEqual([]);
  expect(findParts(names)).toEqual([]);
});

describe('npm start', () => {
  const run = promisify(execFile);

  interface Started {
    readonly printed: string;
    readonly url: string;
    /** The user's home, which must not be touched. */
    readonly home: string;
    /** Where the temporary workspace is. */
    readonly temporary: string;
    stop(): Promise<unknown>;
  }

  /** Starts the script of `npm start` with a home that has a server and a tool of its own. */
  async function start(...args: string[]): Promise<Started> {
    const root = mkdtempSync(join(tmpdir(), 'wield-start-'));
    onTestFinished(() => removeAll(root));
    const [home, temporary] = [join(root, 'home'), join(root, 'tmp')];
    mkdirSync(join(home, '.agents', 'tools'), { recursive: true });
    mkdirSync(temporary);
    writeFileSync(join(home, '.agents', 'mcp.json'), '{ "mcpServers": { "mine": { "command": "false" } } }');
    writeFileSync(join(home, '.agents', 'tools', 'private'), HELLO, { mode: 0o755 });
    const env = { PATH: process.env.PATH, HOME: home, TMPDIR: temporary, PORT: '0' };
    const child = spawn(process.execPath, [join(ROOT, 'scripts/start.mjs'), ...args], { env, cwd: home });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    onTestFinished(() => void child.kill('SIGKILL'));
    let printed = '';
    await new Promise<void>((resolve, reject) => {
      child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
        printed += chunk;
        if (printed.includes('tools/list')) resolve();
      });
      child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
        printed += chunk;
      });
      void ended.then((status) => reject(new Error(`exited with ${status}:\n${printed}`)));
    });
    const url = /^ {2}(http:\/\/127\.0\.0\.1:\d+\/mcp)$/m.exec(printed)![1]!;
    const stop = (): Promise<unknown> => {
      child.kill('SIGTERM');
      return ended;
    };
    return { printed, url, home, temporary, stop };
  }

  finding('N14 SRV-13', 'demonstrates each step in order, then serves with a command that works', async () => {
    const begun = performance.now();
    const { printed, url, home, temporary, stop } = await start();
    expect(performance.now() - begun).toBeLessThan(patience(60_000));
    const steps = [
      /^\$ wield list$/m,
      /^ {2}deploy +script +Publish the site to staging\. +destructive$/m,
      /^Hello, Ada!$/m,
      /^ {2}hint {2}did you mean --branch\?/m,
      /^agent> deploy \{"branch":"main"\}\n\[needs_approval\]/m,
      /^\$ wield approvals approve \w+\n {2}approved +deploy/m,
      /^agent> deploy \{"branch":"main"\}\npublished main$/m,
      /stored as r_/,
      /^agent> read_result .*\n\[\{"id":1,/m,
      /^agent> query_result .*\n.*622500/m,
      /^\$ wield audit\n(?:.*\n)*? {2}\S+ +mcp:agent +deploy +needs_approval/m,
    ];
    let rest = printed;
    for (const step of steps) {
      expect(rest).toMatch(step);
      rest = rest.slice(rest.search(step));
    }
    const command = /^ {2}(npx mcp-inspector .*)$/m.exec(printed)![1]!.split(' ');
    expect(command).toContain(url);
    const listed = await run(command[0]!, command.slice(1), { cwd: ROOT });
    const { tools } = JSON.parse(listed.stdout.slice(listed.stdout.indexOf('{')));
    expect(tools.map((tool: { name: string }) => tool.name)).toEqual([
      'deploy',
      'hello',
      'orders',
      'query_result',
      'read_result',
    ]);
    // The page, and the calls of the agent to watch on it.
    const [, address = ''] = /^ {2}(http:\/\/127\.0\.0\.1:\d+\/#[\w-]+)$/m.exec(printed)!;
    expect((await fetch(address)).headers.get('content-type')).toBe('text/html; charset=utf-8');
    const page = await connectToPage(address);
    const readCalls = async (): Promise<string> => (await page.get('/api/calls')).text;
    await expect.poll(readCalls, { timeout: patience(60_000) }).toContain('mcp:demo-agent');
    expect(await stop()).toBe(0);
    expect(readdirSync(temporary).filter((name) => name.startsWith('wield-demo'))).toEqual([]);
    expect(readdirSync(home)).toEqual(['.agents']);
  });

  finding.thorough('N14 SRV-13', '--serve only serves', async () => {
    const { printed, url, stop } = await start('--serve');
    expect(printed).not.toContain('$ wield');
    expect(await (await fetch(new URL('/', url))).text()).toContain('3 tools: deploy, hello, orders');
    expect(await stop()).toBe(0);
  });
});
