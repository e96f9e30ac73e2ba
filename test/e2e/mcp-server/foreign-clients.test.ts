// Clients of other SDKs against the built server, over both transports: Python, FastMCP, Go, and the inspector.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect } from 'vitest';
import { binary } from '../../support/built.js';
import { serveHttp } from '../../support/server.js';
import { spec, specIf } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const { WIELD_TEST_PYTHON: PYTHON, WIELD_TEST_GO_CLIENT: GO_CLIENT } = process.env;
const WITHOUT_PYTHON =
  'no Python clients; to run: python3 -m venv /tmp/clients && /tmp/clients/bin/pip install mcp fastmcp, ' +
  'then WIELD_TEST_PYTHON=/tmp/clients/bin/python npm test';
const WITHOUT_GO =
  'no Go client; to run: (cd test/support/go-client && go build -o /tmp/go-client .), ' +
  'then WIELD_TEST_GO_CLIENT=/tmp/go-client npm test';
const pathOf = (name: string): string => fileURLToPath(new URL(`../../../${name}`, import.meta.url));
const SERVE = [process.execPath, binary(), 'serve', '--trust'];
const SKILL = '---\nname: notes\ndescription: How to take notes.\n---\nWrite short notes.\n';
const RECEIVED = {
  tools: ['read_skill', 'greet', 'remove', 'query_result', 'read_result'],
  called: 'Hello, Ada\n',
  approved: 'removed\n',
  failed: expect.stringMatching(/^\[invalid_input\] .*who/),
  resources: ['skill://notes/SKILL.md'],
  read: SKILL,
  prompts: ['tools', 'capabilities'],
  prompt: expect.stringContaining('- greet: Greet someone.'),
};

function createOffers(): Workspace {
  const workspace = createWorkspace();
  workspace.script(
    'greet',
    '#!/bin/sh\n# @description Greet someone.\n# @param *who string Whom\necho "Hello, $WIELD_PARAM_WHO"\n',
  );
  workspace.script('remove', '#!/bin/sh\n# @description Remove it.\n# @destructive\necho removed\n');
  workspace.write('.agents/skills/notes/SKILL.md', SKILL);
  return workspace;
}

function run(workspace: Workspace, [program = '', ...args]: readonly string[]): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: workspace.dir, env: workspace.env, stdio: ['ignore', 'pipe', 'pipe'] });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    child.once('error', reject);
    child.once('close', (status) => {
      if (status === 0) resolve(JSON.parse(stdout));
      else reject(new Error(`status ${status}: ${stderr.slice(-2000)}`));
    });
  });
}

for (const library of ['mcp', 'fastmcp'])
  for (const [mode, protocol] of [
    ['auto', '2026-07-28'],
    ['legacy', '2025-11-25'],
  ] as const)
    describe(`the Python client of ${library}, ${protocol}`, () => {
      const client = [PYTHON ?? '', pathOf('test/support/foreign-client.py'), library, mode];

      specIf(PYTHON !== undefined, WITHOUT_PYTHON, 'SRV-81', 'is served over stdio', async () => {
        const received = await run(createOffers(), [...client, 'stdio', ...SERVE]);
        expect(received).toEqual({ protocol, ...RECEIVED });
      });

      specIf(PYTHON !== undefined, WITHOUT_PYTHON, 'SRV-81', 'is served over HTTP', async () => {
        const workspace = createOffers();
        const { url } = await serveHttp(workspace);
        expect(await run(workspace, [...client, 'http', url])).toEqual({ protocol, ...RECEIVED });
      });
    });

describe('the client of the Go SDK', () => {
  specIf(GO_CLIENT !== undefined, WITHOUT_GO, 'SRV-81', 'is served over stdio', async () => {
    expect(await run(createOffers(), [GO_CLIENT ?? '', 'stdio', ...SERVE])).toEqual(RECEIVED);
  });

  specIf(GO_CLIENT !== undefined, WITHOUT_GO, 'SRV-81', 'is served over HTTP', async () => {
    const workspace = createOffers();
    const { url } = await serveHttp(workspace);
    expect(await run(workspace, [GO_CLIENT ?? '', 'http', url])).toEqual(RECEIVED);
  });
});

describe('the inspector and mcporter', () => {
  spec('SRV-81', 'list, call, read and get over HTTP', async () => {
    const workspace = createOffers();
    const { url } = await serveHttp(workspace);
    const inspect = (...args: string[]) =>
      run(workspace, [pathOf('node_modules/.bin/mcp-inspector'), '--cli', url, '--transport', 'http', ...args]);
    const greet = ['--method', 'tools/call', '--tool-name', 'greet', '--tool-arg', 'who=Ada'];
    const text = 'Hello, Ada\n';
    expect(await inspect(...greet)).toMatchObject({ content: [{ text }] });
    expect(await inspect('--method', 'resources/read', '--uri', 'skill://notes/SKILL.md')).toMatchObject({
      contents: [{ text: SKILL }],
    });
    expect(await inspect('--method', 'prompts/get', '--prompt-name', 'tools')).toMatchObject({
      messages: [{ content: { text: RECEIVED.prompt } }],
    });
    const mcporter = pathOf('node_modules/.bin/mcporter');
    const called = await run(workspace, [
      ...[mcporter, 'call', '--http-url', url, '--allow-http', 'greet', 'who=Ada', '--output', 'json'],
    ]);
    expect(JSON.stringify(called)).toContain('Hello, Ada');
  });

  spec.thorough('SRV-81', 'the inspector reads and gets over stdio', async () => {
    const workspace = createOffers();
    const inspect = (...args: string[]) =>
      run(workspace, [pathOf('node_modules/.bin/mcp-inspector'), '--cli', ...SERVE, ...args]);
    expect(await inspect('--method', 'resources/read', '--uri', 'skill://notes/SKILL.md')).toMatchObject({
      contents: [{ text: SKILL }],
    });
    expect(await inspect('--method', 'prompts/get', '--prompt-name', 'tools')).toMatchObject({
      messages: [{ content: { text: RECEIVED.prompt } }],
    });
  });
});
