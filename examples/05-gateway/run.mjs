// Two servers behind one: rules let a model read and ask a person for the rest: node examples/05-gateway/run.mjs

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const binary = fileURLToPath(new URL('dist/cli/wield.cjs', import.meta.resolve('wield/package.json')));
const cwd = fileURLToPath(new URL('.', import.meta.url));
// A temporary home, so that the example leaves nothing in yours.
const home = realpathSync(mkdtempSync(join(tmpdir(), 'wield-example-')));
const files = join(home, 'files');
mkdirSync(files);
writeFileSync(join(files, 'note.txt'), 'Buy milk');

// .mcp.json refers to this variable, which is resolved when a server starts.
const env = { PATH: process.env.PATH, HOME: home, WIELD_HOME: join(home, '.wield'), GATEWAY_FILES: files };
const wield = (...args) => execFileSync(process.execPath, [binary, ...args], { cwd, env, encoding: 'utf8' });

mkdirSync(env.WIELD_HOME);
writeFileSync(
  join(env.WIELD_HOME, 'config.toml'),
  `[trust]
rules = [
  "files_read_*($policy=allow) files_list_*($policy=allow)",
  "memory_read_graph($policy=allow) memory_search_nodes($policy=allow)",
  "files_* memory_*",
]
`,
);

try {
  // The servers belong to the checkout, so they do not run until a person trusts it.
  const before = JSON.parse(wield('mcp', '--json')).servers;
  assert.deepEqual(
    before.map(({ name, state }) => [name, state]),
    [
      ['files', 'untrusted'],
      ['memory', 'untrusted'],
    ],
  );
  wield('trust', '--yes');
  process.stdout.write(wield('mcp', 'refresh'));

  const client = new Client({ name: 'example', version: '1' });
  const command = { command: process.execPath, args: [binary, 'serve'], cwd, env };
  await client.connect(new StdioClientTransport(command));

  // One list with the tools of both, except those that a server's entry denies.
  const names = (await client.listTools()).tools.map((tool) => tool.name);
  assert.ok(names.includes('files_read_text_file') && names.includes('memory_create_entities'));
  assert.ok(!names.includes('files_directory_tree'));
  console.log(`${names.length} tools: those of ${before.length} servers, query_result and read_result`);

  // Reading is allowed.
  const read = await client.callTool({
    name: 'files_read_text_file',
    arguments: { path: join(files, 'note.txt') },
  });
  assert.equal(read.content[0].text, 'Buy milk');
  console.log(`read: ${read.content[0].text}`);

  // Writing needs approval.
  const write = {
    name: 'files_write_file',
    arguments: { path: join(files, 'note.txt'), content: 'Buy bread' },
  };
  const asked = await client.callTool(write);
  assert.equal(asked._meta['wield/error'].code, 'needs_approval');
  assert.equal(readFileSync(join(files, 'note.txt'), 'utf8'), 'Buy milk');
  console.log(asked.content[0].text.split('\n')[0]);

  const [{ id, tool }] = JSON.parse(wield('approvals', '--json')).approvals;
  assert.equal(tool, 'files_write_file');
  wield('approvals', 'approve', id);
  const written = await client.callTool(write);
  assert.equal(written.isError ?? false, false);
  assert.equal(readFileSync(join(files, 'note.txt'), 'utf8'), 'Buy bread');
  console.log('approved, and written');

  // The other server has its own state, in the file named in its entry.
  const graph = await client.callTool({ name: 'memory_read_graph', arguments: {} });
  assert.deepEqual(graph.structuredContent, { entities: [], relations: [] });

  await client.close();

  // The calls of all servers are in one log.
  const calls = JSON.parse(wield('audit', '--json')).records.map((record) => record.tool);
  assert.ok(calls.includes('files_write_file') && calls.includes('memory_read_graph'));
} finally {
  rmSync(home, { recursive: true, force: true });
}
