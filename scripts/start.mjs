// `npm start`: a demonstration in a temporary home and workspace, which is then served. `npm start -- --serve` only serves.

import { spawn } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { demonstrate } from './demonstrate.mjs';
import { playSession } from './play-session.mjs';
import { answerHelp } from './usage.mjs';

answerHelp(import.meta.url);

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const BINARY = join(ROOT, 'dist/cli/wield.cjs');
const TOOLS = join(ROOT, 'scripts/demo');
const PORT = process.env.PORT ?? '7070';
const PORT_IN_USE = 8;
const INTERRUPTED = 130;

const demo = createDemo();
process.once('exit', () => rmSync(demo.root, { recursive: true, force: true }));
let server;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => (server === undefined ? process.exit(INTERRUPTED) : server.kill('SIGTERM')));

await demo.run('init');
if (process.argv.includes('--serve')) addTools();
else await demonstrate(demo, addTools);
serve(PORT);

// Nothing of the user is read or changed: home, state and workspace are temporary.
function createDemo() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'wield-demo-')));
  const [home, workdir] = [join(root, 'home'), join(root, 'site')];
  mkdirSync(home);
  mkdirSync(workdir);
  const env = { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8', COLUMNS: '100' };
  const run = (...args) =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [BINARY, ...args], {
        cwd: workdir,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let output = '';
      const add = (chunk) => {
        output += chunk;
      };
      child.stdout.setEncoding('utf8').on('data', add);
      child.stderr.setEncoding('utf8').on('data', add);
      child.once('error', reject).once('close', (status) => resolve({ status, output }));
    });
  return { root, home, workdir, env, binary: BINARY, run };
}

function addTools() {
  for (const name of readdirSync(TOOLS)) {
    const file = join(demo.workdir, '.agents/tools', name);
    copyFileSync(join(TOOLS, name), file);
    chmodSync(file, 0o755);
  }
}

function serve(port) {
  server = spawn(process.execPath, [BINARY, 'serve', '--http', port, '--ui'], {
    cwd: demo.workdir,
    env: demo.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  let printed = '';
  server.stdout.on('data', (text) => {
    printed += text;
    const [url, page, end] = printed.split('\n');
    if (end === '') announce(url, page);
  });
  server.stderr.on('data', (text) => {
    errors += text;
  });
  server.once('exit', (status) => {
    if (status === PORT_IN_USE && port !== '0') return serve('0');
    if (status !== 0 && status !== INTERRUPTED) process.stderr.write(errors);
    process.exit(status ?? 1);
  });
}

function announce(url, page) {
  const watches = !process.argv.includes('--serve');
  console.log(`
Open this page to see the tools, calls and approvals${watches ? '; an agent is at work: approve its call of deploy there' : ''}
  ${page}
Serving this workspace over MCP, until Ctrl-C
  ${url}
Connect a client, in this directory
  npx mcp-inspector --cli ${url} --transport http --method tools/list`);
  // The server may end first.
  if (watches) playSession(url).catch(() => {});
}
