// One typed definition, used by a model, from a shell and in a test: node examples/03-typed-tool/run.mjs

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const root = fileURLToPath(new URL('.', import.meta.resolve('wield/package.json')));
const wield = join(root, 'dist/cli/wield.cjs');
const cwd = fileURLToPath(new URL('.', import.meta.url));
// A temporary home, so that the example leaves nothing in yours.
const home = mkdtempSync(join(tmpdir(), 'wield-example-'));
const env = { PATH: process.env.PATH, HOME: home, WIELD_HOME: join(home, '.wield') };
const run = (...args) => execFileSync(process.execPath, args, { cwd, env, encoding: 'utf8' });

try {
  // The file type-checks, but needs no build step to be a tool.
  const flags = [
    '--ignoreConfig',
    '--skipLibCheck',
    '--noEmit',
    '--checkers',
    '1',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2023',
    '--types',
    'node',
  ];
  const files = ['complete-task.test.ts', '.agents/tools/complete-task.tool.ts'];
  run(join(root, 'node_modules/typescript/bin/tsc'), ...flags, '--allowImportingTsExtensions', ...files);
  console.log('compiler: no errors');

  // Listing a module loads it, so a person has to trust the directory first.
  assert.match(run(wield, 'list'), /complete-task +module +Not loaded/);
  run(wield, 'trust', '--yes');
  const [tool] = JSON.parse(run(wield, 'list', '--json')).tools;
  assert.deepEqual([tool.name, tool.group, tool.format], ['complete_task', 'task', 'module']);

  // From a shell.
  const said = run(wield, 'call', 'complete_task', '--summary', 'tea made');
  assert.deepEqual(JSON.parse(said), { message: 'Task completed: tea made', is_error: false });
  process.stdout.write(`shell: ${said}`);

  // From a model.
  const client = new Client({ name: 'example', version: '1' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [wield, 'serve'], cwd, env }));
  const { tools } = await client.listTools();
  assert.deepEqual(tools[0].inputSchema.required, ['summary']);
  assert.equal(tools[0].inputSchema.properties.summary.description, 'Summary of work done');
  const done = await client.callTool({ name: 'complete_task', arguments: { summary: 'tea made' } });
  assert.deepEqual(done.structuredContent, { message: 'Task completed: tea made', is_error: false });
  console.log(`model: ${done.structuredContent.message}`);
  await client.close();

  // From a test.
  const report = run(join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--root', cwd, '--reporter', 'json');
  assert.equal(JSON.parse(report).numPassedTests, 2);
  console.log('tests: 2 passed');
} finally {
  rmSync(home, { recursive: true, force: true });
}
