// Serves this directory's tools over MCP and uses them with a real client: node examples/08-server/run.mjs

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const wield = fileURLToPath(new URL('dist/cli/wield.cjs', import.meta.resolve('wield/package.json')));
const cwd = fileURLToPath(new URL('.', import.meta.url));
// A temporary home, so that the example leaves nothing in yours.
const home = mkdtempSync(join(tmpdir(), 'wield-example-'));
const env = { PATH: process.env.PATH, HOME: home, WIELD_HOME: join(home, '.wield') };

async function connect() {
  const client = new Client({ name: 'example', version: '1' });
  const command = { command: process.execPath, args: [wield, 'serve'], cwd, env };
  await client.connect(new StdioClientTransport(command));
  return client;
}

try {
  const client = await connect();

  // Until a person trusts the directory, a model can list its tools but not call them.
  const early = await client.callTool({ name: 'greet', arguments: { name: 'Ada' } });
  assert.equal(early.isError, true);
  assert.match(early.content[0].text, /^\[needs_trust\]/);

  execFileSync(process.execPath, [wield, 'trust', '--yes'], { cwd, env, stdio: 'ignore' });

  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map((tool) => tool.name),
    ['count-lines', 'greet', 'query_result', 'read_result'],
  );
  for (const { name, description } of tools) console.log(`${name}: ${description}`);

  const greeting = await client.callTool({ name: 'greet', arguments: { name: 'Ada' } });
  assert.equal(greeting.content[0].text, 'Hello, Ada!\n');
  process.stdout.write(greeting.content[0].text);

  const counted = await client.callTool({ name: 'count-lines', arguments: { text: 'one\ntwo' } });
  assert.deepEqual(counted.structuredContent, { lines: 2, characters: 7 });
  console.log(counted.structuredContent);

  const wrong = await client.callTool({ name: 'greet', arguments: {} });
  assert.equal(wrong._meta['wield/error'].code, 'invalid_input');
  console.log(wrong.content[0].text);

  await client.close();
} finally {
  rmSync(home, { recursive: true, force: true });
}
