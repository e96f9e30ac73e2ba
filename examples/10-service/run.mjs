// Runs the command of wield.service, behind the proxy of nginx.conf if nginx is installed: node examples/10-service/run.mjs

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const cwd = fileURLToPath(new URL('.', import.meta.url));
const wield = fileURLToPath(new URL('dist/cli/wield.cjs', import.meta.resolve('wield/package.json')));
const read = (name) => readFileSync(join(cwd, name), 'utf8');
// A temporary home, so that the example leaves nothing in yours.
const home = mkdtempSync(join(tmpdir(), 'wield-example-'));
const token = 'a-token-of-this-example-only';
writeFileSync(join(home, 'token'), `${token}\n`, { mode: 0o600 });
const started = [];

async function findPort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return String(port);
}

function has(program) {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
}

// The arguments of ExecStart, with our ports and paths.
async function serve(port, publicUrl) {
  const [, line] = /^ExecStart=\S+ (.*)$/m.exec(read('wield.service'));
  const words = line
    .replace('127.0.0.1:7070', `127.0.0.1:${port}`)
    .replace(/https:\S+/, publicUrl)
    .replace('%d', home);
  const env = { PATH: process.env.PATH, HOME: home, WIELD_HOME: join(home, '.wield') };
  const child = spawn(process.execPath, [wield, ...words.split(' ')], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(child);
  await once(child.stdout, 'data');
  return child;
}

function send(base, path, { body, ca, authorization = `Bearer ${token}` } = {}) {
  const url = new URL(path, base);
  const headers = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    authorization,
    ...MODERN,
  };
  return new Promise((resolve, reject) => {
    const asked = request(url, { method: body ? 'POST' : 'GET', headers, ca }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push({ at: performance.now(), text: chunk.toString('utf8') }));
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, chunks }));
    });
    asked.on('error', reject);
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const MODERN = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'count' };
const CALL = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {
    name: 'count',
    arguments: { to: 4 },
    _meta: {
      progressToken: 'p',
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'example', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
};

async function throughNginx() {
  const [port, secure] = [await findPort(), await findPort()];
  const [cert, key] = [join(home, 'cert.pem'), join(home, 'key.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, '-days', '1', ...subject],
    { stdio: 'ignore' },
  );
  const server = read('nginx.conf')
    .replace('listen 443 ssl', `listen 127.0.0.1:${secure} ssl`)
    .replace('proxy_pass http://127.0.0.1:7070', `proxy_pass http://127.0.0.1:${port}`)
    .replace('server_name wield.example.com', 'server_name localhost')
    .replace(/ssl_certificate .*;/, `ssl_certificate ${cert};`)
    .replace(/ssl_certificate_key .*;/, `ssl_certificate_key ${key};`);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${home}/${name};`,
  );
  const config = `daemon off; pid ${home}/nginx.pid; error_log stderr warn; events {} http { access_log off; ${paths.join(' ')}\n${server}}`;
  writeFileSync(join(home, 'nginx.conf'), config);
  const base = `https://localhost:${secure}`;
  await serve(port, `${base}/mcp`);
  const nginx = spawn('nginx', ['-c', join(home, 'nginx.conf'), '-e', 'stderr'], { stdio: 'ignore' });
  started.push(nginx);
  const ca = readFileSync(cert);
  for (let left = 50; ; left--) {
    const answer = await send(base, '/healthz', { ca }).catch((error) => error);
    if (answer.status === 200) break;
    if (left === 0) throw answer;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.equal((await send(base, '/mcp', { ca, body: CALL, authorization: 'Bearer wrong' })).status, 401);
  assert.equal((await send(base, '/metrics', { ca })).status, 404);
  const { status, chunks, headers } = await send(base, '/mcp', { ca, body: CALL });
  assert.equal(status, 200);
  assert.match(headers['content-type'], /event-stream/);
  assert.match(chunks.at(-1).text, /"result"/);
  // The first step arrives while the tool is still counting: nothing is buffered.
  assert.ok(chunks.at(-1).at - chunks[0].at > 500, 'the answer was buffered');
  console.log(
    `nginx: ${chunks.length} parts of a stream, the first ${Math.round((chunks.at(-1).at - chunks[0].at) / 100) / 10} s before the last`,
  );
}

async function alone() {
  const port = await findPort();
  await serve(port, `http://127.0.0.1:${port}/mcp`);
  const answer = await fetch(`http://127.0.0.1:${port}/healthz`);
  assert.equal(answer.status, 200);
  console.log('wield.service: its command starts; install nginx to see the proxy');
}

try {
  await (has('nginx') && has('openssl') ? throughNginx() : alone());
} finally {
  for (const child of started) child.kill('SIGTERM');
  await Promise.all(started.map((child) => child.exitCode ?? once(child, 'exit')));
  rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
