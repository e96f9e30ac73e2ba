// The kept first answers of `wield serve`: used only while everything that they were made from is unchanged.

import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { binary } from '../../support/built.js';
import { wield } from '../../support/cli.js';
import { copyCompiledCode } from '../../support/compiled-code.js';
import { some } from '../../support/effort.js';
import { NEWER } from '../../support/mcp-messages.js';
import { serveHere } from '../../support/serve.js';
import { OLDER, until } from '../../support/server.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

// Files that were just written count as settled.
const LATER = `--require "${fileURLToPath(new URL('../../support/later.cjs', import.meta.url))}"`;
const script = (description: string): string => `#!/bin/sh\n# @description ${description}\necho done\n`;

const request = (id: number | string, method: string, params?: object) => ({ id, method, params });
const client = { protocolVersion: OLDER, capabilities: {}, clientInfo: { name: 'test', version: '1' } };
const envelope = {
  'io.modelcontextprotocol/protocolVersion': NEWER,
  'io.modelcontextprotocol/clientCapabilities': {},
};
const INITIALIZE = request(1, 'initialize', client);
const INITIALIZED = { method: 'notifications/initialized' };
const LIST = request(2, 'tools/list');
const START = [INITIALIZE, INITIALIZED, LIST];
const NEWER_START = [request(1, 'server/discover', { _meta: envelope }), request(2, 'tools/list', { _meta: envelope })];

const toText = (messages: readonly (object | string)[]): string =>
  messages.map((one) => `${typeof one === 'string' ? one : JSON.stringify({ jsonrpc: '2.0', ...one })}\n`).join('');

/** Starts a server, sends messages, ends the input when all are answered, and returns the lines that it wrote. */
function serve(workspace: Workspace, messages: readonly (object | string)[], args: readonly string[] = [], extra = 0) {
  copyCompiledCode(workspace.env.WIELD_HOME);
  const env = { ...workspace.env, NODE_OPTIONS: LATER };
  const child = spawn(process.execPath, [binary(), 'serve', ...args], { cwd: workspace.dir, env });
  const expected = extra + messages.filter((one) => typeof one === 'string' || 'id' in one).length;
  let out = '';
  child.stdin.write(toText(messages));
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text;
    if (out.split('\n').length > expected) child.stdin.end();
  });
  const limit = setTimeout(() => child.stdin.end(), 90_000);
  return new Promise<string[]>((resolve, reject) => {
    child.once('close', (code) => {
      clearTimeout(limit);
      if (code === 0) resolve(out.split('\n').slice(0, -1));
      else reject(new Error(`ended with ${code}: ${out}`));
    });
  });
}

const answersOf = ({ env }: Workspace): string => join(env.WIELD_HOME!, 'cache', 'answers');
const keptBy = (workspace: Workspace): string => join(answersOf(workspace), readdirSync(answersOf(workspace))[0]!);

/** Replaces a text of the kept answers by one of the same length, which shows whether they are used. */
function mark(workspace: Workspace): void {
  const kept = keptBy(workspace);
  writeFileSync(kept, readFileSync(kept, 'utf8').replaceAll('Does 0.', 'Kept 0.'));
}

async function keep(messages: readonly object[] = START): Promise<Workspace> {
  const workspace = createWorkspace();
  for (let at = 0; at < 3; at++) workspace.script(`tool-${at}`, script(`Does ${at}.`));
  await serve(workspace, messages);
  await until(() => existsSync(answersOf(workspace)), 'the answers are kept');
  return workspace;
}

const listOf = (lines: readonly string[]): string => lines.find((line) => line.startsWith('{"jsonrpc":"2.0","id":2,'))!;

/** What a server that keeps nothing answers. */
async function listHere(workspace: Workspace): Promise<unknown> {
  const server = serveHere(workspace, { args: [] });
  await server.initialize();
  const { result } = await server.request(2, 'tools/list');
  await server.close();
  return result;
}

spec('RES-61', 'answers the first messages with what is kept, and everything after them as ever', async () => {
  const workspace = await keep();
  const call = request(3, 'tools/call', { name: 'tool-0', arguments: {} });
  const messages = [...START, call, request('four', 'ping')];
  const lines = await serve(workspace, messages);
  const ids = lines.map((line) => JSON.parse(line).id);
  expect(ids.sort()).toEqual([1, 2, 3, 'four']);
  expect(lines.find((line) => line.includes('"id":3'))).toContain('needs_trust');
  expect(JSON.parse(listOf(lines)).result).toEqual(await listHere(workspace));
  // The first call has created directories in the wield home.
  await serve(workspace, START);
  mark(workspace);
  // The server itself lists something else, which is announced, and the answers are made again.
  const marked = await serve(workspace, messages, [], 1);
  expect(listOf(marked)).toContain('Kept 0.');
  expect(marked.filter((line) => line.includes('"id":2,'))).toHaveLength(1);
  expect(marked).toContain('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
  expect(readdirSync(answersOf(workspace))).toEqual([]);
  expect(listOf(await serve(workspace, START))).toContain('Does 0.');
  expect(readdirSync(answersOf(workspace))).toHaveLength(1);
});

const CHANGES: Record<string, (workspace: Workspace) => unknown> = {
  'a tool was edited, with the same size and time': ({ dir }) => {
    const file = join(dir, '.agents/tools/tool-1');
    const { atime, mtime } = statSync(file);
    writeFileSync(file, script('Makes 1'));
    utimesSync(file, atime, mtime);
  },
  'a rule denies a tool': (workspace) => workspace.config('[trust]\nrules = ["tool-1($deny)"]\n'),
  'the workspace was trusted': (workspace) => wield(workspace, ['trust']),
  'there is a skill': (workspace) =>
    workspace.write('.agents/skills/tidy/SKILL.md', '---\nname: tidy\ndescription: Tidies.\n---\nText\n'),
  'the kept answers are damaged': (workspace) => truncateSync(keptBy(workspace), statSync(keptBy(workspace)).size - 1),
};

spec('RES-61', 'lists again after a change of what the answers were made from', async () => {
  for (const [name, change] of some(Object.entries(CHANGES), 3)) {
    const workspace = await keep();
    mark(workspace);
    await change(workspace);
    const lines = await serve(workspace, START);
    expect(JSON.parse(listOf(lines)).result, name).toEqual(await listHere(workspace));
    expect(lines, name).toHaveLength(2);
  }
});

spec.thorough('RES-61', 'uses them for the same messages, flags and protocol version only', async () => {
  const workspace = await keep();
  mark(workspace);
  const cases: Record<string, [messages: (object | string)[], args?: string[]]> = {
    'a message that is not JSON': [['{', ...START]],
    'a page': [[INITIALIZE, INITIALIZED, request(2, 'tools/list', { cursor: 'from:0' })]],
    'the newer version': [NEWER_START],
    'another mode': [START, ['--mode', 'search']],
    'trust for one run': [START, ['--trust']],
  };
  for (const [name, [messages, args]] of Object.entries(cases))
    expect(listOf(await serve(workspace, messages, args)), name).not.toContain('Kept 0.');
  // Kept separately.
  const newer = await keep(NEWER_START);
  mark(newer);
  const lines = await serve(newer, NEWER_START);
  expect(listOf(lines)).toContain('Kept 0.');
  expect(lines).toHaveLength(2);
});
