// Two fronts and two workers on this machine, with a real Redis: node examples/09-fleet/run.mjs

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const wield = fileURLToPath(new URL('dist/cli/wield.cjs', import.meta.resolve('wield/package.json')));
const cwd = fileURLToPath(new URL('.', import.meta.url));
const place = mkdtempSync(join(tmpdir(), 'wield-example-'));
const started = [];

if (!canRun('redis-server')) {
  console.log('left out: redis-server is not installed; try: sudo apt-get install redis-server');
  process.exit(0);
}

/** The environment of a machine: fronts have the same home, and each machine its own state. */
function machine(name) {
  const home = join(place, name.replace(/^front-\d/, 'front'));
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'machine'), name);
  const key = { WIELD_FLEET_KEY: 'e9'.repeat(32) };
  return { PATH: process.env.PATH, HOME: home, WIELD_HOME: join(place, `state of ${name}`), ...key };
}

try {
  const port = await freePort();
  const fleet = ['--fleet', `redis://127.0.0.1:${port}`];
  start('redis-server', ['--port', `${port}`, '--save', '', '--dir', place]);
  while (!canRun('redis-cli', ['-p', `${port}`, 'ping'])) await sleep(50);

  const serve = ['serve', '--http', '0', '--trust', ...fleet];
  const urls = [await member('front-1', serve), await member('front-2', serve)];
  for (const name of ['worker-1', 'worker-2']) await member(name, ['worker', '--trust', ...fleet]);

  const [one, two] = await Promise.all(urls.map(connect));
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      [one, two][at % 2].callTool({ name: 'resize', arguments: { name: `${at}.png` } }),
    ),
  );
  const texts = answers.map(({ content }) => content[0].text.trim());
  for (const [at, text] of texts.entries()) assert.match(text, new RegExp(`^resized ${at}.png on worker-[12]$`));
  console.log(texts[0]);

  // One front asks, a person approves elsewhere, the other front runs it.
  const asked = await one.callTool({ name: 'publish', arguments: {} });
  const { id } = asked._meta['wield/error'].data;
  run('person', ['approvals', 'approve', id, ...fleet]);
  const published = await two.callTool({ name: 'publish', arguments: {} });
  assert.equal(published.content[0].text, 'published\n');

  // Workers announce a few times a second what they run.
  const readStatus = () => run('person', ['fleet', 'status', ...fleet]);
  let status = readStatus();
  for (let wait = 0; wait < 30 && !status.includes('running 0'); wait++) {
    await sleep(300);
    status = readStatus();
  }
  assert.match(status, /fronts 2 {3}workers 2 {3}running 0 {3}waiting 0/);
  process.stdout.write(status);
  await Promise.all([one.close(), two.close()]);
} finally {
  for (const child of started) child.kill('SIGTERM');
  await Promise.all(started.map((child) => child.exitCode ?? new Promise((resolve) => child.once('exit', resolve))));
  rmSync(place, { recursive: true, force: true });
}

function start(program, args, options = {}) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'], ...options });
  started.push(child);
  return child;
}

/** Starts a front or worker, and returns the first line that it prints. */
async function member(name, args) {
  const { stdout } = start(process.execPath, [wield, ...args], { cwd, env: machine(name) });
  for await (const chunk of stdout.iterator({ destroyOnReturn: false })) return String(chunk).trim();
}

function run(name, args) {
  return execFileSync(process.execPath, [wield, ...args], { cwd, env: machine(name), encoding: 'utf8' });
}

async function connect(url) {
  const client = new Client({ name: 'example', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

function canRun(program, args = ['--version']) {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
