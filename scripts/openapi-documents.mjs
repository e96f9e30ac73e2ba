// Calls every operation of OpenAPI documents against a server that checks the requests, and prints a table with the time
// to read each document and the tokens of its tools. Usage: npm run openapi-documents -- FILE… [--calls N] [--seed N].
// With --write, the table becomes docs/reports/openapi-documents.md.

import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runnerImport } from 'vite';
import { parse } from 'yaml';
import { estimateTokens } from '../dist/core/text.js';
import { listForClients } from '../dist/mcp-server/listing.js';
import { createNodeToolbox } from '../dist/node.js';
import { answerHelp } from './usage.mjs';

answerHelp(import.meta.url);

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const { callOperations, startRecorder } = (await runnerImport(join(ROOT, 'test/support/openapi-calls.ts'))).module;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    calls: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    write: { type: 'boolean' },
  },
});
if (positionals.length === 0) {
  console.error(
    'usage: npm run openapi-documents -- FILE… [--calls N] [--seed N] [--write]; each document is one file',
  );
  process.exit(2);
}

const recorder = await startRecorder();
const table = [];
const print = (line) => {
  table.push(line);
  console.log(line);
};
print('| document | operations | calls | faults | not called | unchecked schemas | read | tokens | in search mode |');
print('|---|---|---|---|---|---|---|---|---|');
let failed = 0;
for (const file of positionals) await tryDocument(file);
recorder.close();
if (values.write) writeFileSync(join(ROOT, 'docs/reports/openapi-documents.md'), toPage());
process.exitCode = failed > 0 ? 1 : 0;

async function tryDocument(file) {
  const root = mkdtempSync(join(tmpdir(), 'wield-openapi-'));
  const env = { PATH: process.env.PATH, HOME: join(root, 'home'), WIELD_HOME: join(root, 'home/.wield') };
  const workdir = join(root, 'project');
  mkdirSync(workdir, { recursive: true });
  mkdirSync(join(env.HOME, '.agents/tools'), { recursive: true });
  mkdirSync(env.WIELD_HOME, { recursive: true });
  writeFileSync(join(env.WIELD_HOME, 'config.toml'), `[openapi.api]\nserver = "${recorder.address}"\n`);
  copyFileSync(file, join(env.HOME, `.agents/tools/api.openapi${extname(file)}`));
  const toolbox = createNodeToolbox({ workdir, env });
  const start = performance.now();
  await toolbox.list();
  const ms = performance.now() - start;
  const text = readFileSync(file, 'utf8');
  const document = extname(file) === '.json' ? JSON.parse(text) : parse(text);
  const options = { calls: Number(values.calls), seed: Number(values.seed) };
  const { operations, calls, unchecked, faults, untried } = await callOperations(
    toolbox,
    document,
    recorder.take,
    options,
  );
  const tokens = async (mode) => {
    const one = createNodeToolbox({ workdir, env, ...(mode && { mode }) });
    const tools = await listForClients(one);
    await one.close();
    return tools.reduce((sum, tool) => sum + estimateTokens(JSON.stringify(tool)), 0).toLocaleString('en');
  };
  const row = [basename(file), operations, calls, faults.length, untried.length, unchecked, `${ms.toFixed(0)} ms`];
  print(`| ${[...row, await tokens(), await tokens('search')].join(' | ')} |`);
  for (const line of [...faults, ...untried]) console.error(`  ${line}`);
  failed += faults.length;
  await toolbox.close();
  rmSync(root, { recursive: true, force: true });
}

function toPage() {
  return [
    '# OpenAPI documents',
    '',
    `Public documents, on ${new Date().toISOString().slice(0, 10)}, by \`npm run openapi-documents -- --write FILE…\`: every operation is called ${values.calls} times`,
    'with random input that fits its schema. A server decodes the requests by code of its own, and checks them with ajv against the',
    'document; a fault is a request that the document does not allow, or a value that arrives other than it was given. Files are',
    'named after their repository, its commit or version, and the document. `read` is the time until the tools are listed, on a',
    'machine with other work; `tokens` are those of all tools, and of the tools that search mode lists.',
    '',
    ...table,
    '',
  ].join('\n');
}
