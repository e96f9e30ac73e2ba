// `npm run machines`: installs, starts and tests clean clones in several places, as several users, with several versions of
// Node and without optional programs, and prints a table. Run as root; every combination takes minutes. Flags choose some:
// --place tmp,home,odd  --user root,ordinary  --node 20.19.0,22,24  --without none,all,each,bwrap,…  --part quick or all or FILE,…

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createPath, OPTIONAL } from './bare-path.mjs';
import { installNode } from './nodes.mjs';
import { answerHelp } from './usage.mjs';

answerHelp(import.meta.url);

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const ORDINARY = 'wield-test';
const LIMIT_MS = 5_400_000;
// The calls of the demonstration, and the page that is served afterwards.
const MAIN_JOB = [/Hello, Ada!/, /Serving this workspace over MCP/];
const PLACES = {
  tmp: (base) => join(base, 'clone'),
  home: (_, home) => join(home, 'clone'),
  odd: (base) => join(base, 'a path', 'ünïcode 目录'),
};
// How this machine reaches the registry.
const NETWORK = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => /^(?:https?_proxy|no_proxy|node_extra_ca_certs)$/i.test(name)),
);
const PARTS = { all: ['test'], quick: ['run', 'test:quick'] };

const { values } = parseArgs({
  options: {
    place: { type: 'string', default: Object.keys(PLACES).join() },
    user: { type: 'string', default: 'root,ordinary' },
    node: { type: 'string', default: '20.19.0,22,24' },
    without: { type: 'string', default: 'none,all,each' },
    part: { type: 'string', default: 'quick' },
  },
});
const chosen = (name, known) => {
  const names = values[name].split(',');
  const unknown = known === undefined ? [] : names.filter((one) => !known.includes(one));
  if (unknown.length > 0) fail(`--${name}: unknown ${unknown.join(', ')}; known are ${known.join(', ')}`);
  return names;
};
const places = chosen('place', Object.keys(PLACES));
const users = chosen('user', ['root', 'ordinary']);
const nodes = chosen('node');
const without = chosen('without', ['none', 'all', 'each', ...OPTIONAL]).flatMap((one) =>
  one === 'each' ? OPTIONAL : [one],
);
if (process.getuid?.() !== 0) fail('must be run as root, to be several users: sudo npm run machines');

// Other users must be able to enter it.
const [base, programsBase] = [tmpdir(), '/opt'].map((place) => mkdtempSync(join(place, 'wield-machines-')));
// Programs are where a sandbox shows them.
for (const directory of [base, programsBase]) {
  chmodSync(directory, 0o755);
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));

if (users.includes('ordinary') && spawnSync('id', [ORDINARY]).status !== 0)
  execFileSync('useradd', ['--create-home', ORDINARY]);

const rows = [];
for (const version of nodes) {
  const bin = installNode(version, join(programsBase, `node-${version}`));
  for (const missing of without) {
    const hidden = missing === 'none' ? [] : missing === 'all' ? OPTIONAL : [missing];
    const programs = createPath(join(programsBase, `path-${missing}`, version), [...hidden, 'node']);
    for (const user of users)
      for (const place of places)
        rows.push(await tryMachine({ version, missing, user, place, path: [bin, programs].join(delimiter) }));
  }
}
const failed = rows.filter(({ outcome }) => outcome !== 'ok');
console.log(`\n| Node | without | user | place | outcome | seconds |\n|---|---|---|---|---|---|`);
for (const row of rows)
  console.log(`| ${row.version} | ${row.missing} | ${row.user} | ${row.place} | ${row.outcome} | ${row.seconds} |`);
process.exitCode = failed.length === 0 ? 0 : 1;

/** Clones, installs, starts and tests once; the output is kept if a step fails. */
async function tryMachine({ version, missing, user, place, path }) {
  const began = Date.now();
  const name = [version, missing, user, place].join('-');
  const machine = join(base, name);
  const home = join(machine, 'home');
  const clone = PLACES[place](machine, home);
  mkdirSync(home, { recursive: true });
  mkdirSync(join(clone, '..'), { recursive: true });
  execFileSync('git', ['clone', '--quiet', ROOT, clone]);
  const account = user === 'root' ? 'root' : ORDINARY;
  execFileSync('chown', ['-R', account, machine]);
  const ids = (flag) => Number(execFileSync('id', [flag, account], { encoding: 'utf8' }));
  const env = {
    ...NETWORK,
    PATH: path,
    HOME: home,
    LANG: 'C.UTF-8',
    USER: account,
    npm_config_cache: join(machine, 'npm-cache'),
  };
  const options = { cwd: clone, env, uid: ids('-u'), gid: ids('-g') };
  const part = PARTS[values.part] ?? ['test', '--', ...values.part.split(',')];
  let outcome = 'ok';
  let output = '';
  for (const [step, run] of [
    ['npm ci', () => command(options, ['ci', '--no-audit', '--no-fund'])],
    ['npm start', () => start(options)],
    [`npm ${part.join(' ')}`, () => command(options, part)],
  ]) {
    console.log(`${name}: ${step}`);
    const done = await run();
    output += done.output;
    if (done.ok) continue;
    const log = join(homedir(), `wield-machines-${name}.log`);
    writeFileSync(log, output);
    outcome = `${step} failed, see ${log}`;
    break;
  }
  rmSync(machine, { recursive: true, force: true });
  return { version, missing, user, place, outcome, seconds: Math.round((Date.now() - began) / 1000) };
}

function command(options, args) {
  const child = spawn('npm', args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  return watch(child, () => false).then(({ output, status }) => ({ output, ok: status === 0 }));
}

// Ends with a signal, because it serves until then.
function start(options) {
  const env = { ...options.env, PORT: '0' };
  const child = spawn('npm', ['start'], { ...options, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const isDone = (output) => MAIN_JOB.every((pattern) => pattern.test(output));
  return watch(child, isDone).then(({ output }) => ({ output, ok: isDone(output) }));
}

function watch(child, isDone) {
  let output = '';
  const stop = () => {
    try {
      process.kill(-child.pid, 'SIGTERM');
    } catch {
      // It has ended.
    }
  };
  return new Promise((resolve) => {
    const timer = setTimeout(stop, LIMIT_MS);
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        output += chunk;
        if (isDone(output)) stop();
      });
    child.once('close', (status) => {
      clearTimeout(timer);
      resolve({ output, status });
    });
  });
}

function fail(message) {
  console.error(message);
  process.exit(2);
}
