// The soak of users: 50 users with 20 clients each at one wield serve --http. Nothing of one user may reach another.
// Usage: node scripts/users-soak.mjs. SOAK_SECONDS sets the duration, 120 by default. It writes its part of docs/reports/soak.md.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { answerHelp } from './usage.mjs';

answerHelp(import.meta.url);

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const GROUPS = 5;
const OLDER = '2025-11-25';
const NEWER = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': NEWER,
  'io.modelcontextprotocol/clientCapabilities': {},
  // Every client has the same name: only the token tells users apart.
  'io.modelcontextprotocol/clientInfo': { name: 'soak', version: '1' },
};

/** The users: their names, groups and tokens. */
export function createUsers(count) {
  return Array.from({ length: count }, (_, at) => {
    const name = `user-${String(at).padStart(2, '0')}`;
    return { name, group: `g${at % GROUPS}`, token: `${name}-${'t'.repeat(24)}` };
  });
}

/** Writes tools, rules and tokens of the users into a home and a workdir. */
export function writeSetup({ dir, home, users }) {
  const write = (path, text, mode = 0o600) => {
    mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 });
    writeFileSync(path, text);
    chmodSync(path, mode);
  };
  const tool = (name, body) =>
    write(
      join(dir, '.agents/tools', name),
      `#!/bin/sh\n# @description Soak.\n# @param text string A text.\n${body}\n`,
      0o755,
    );
  tool('echo', 'echo "$WIELD_PARAM_TEXT"');
  tool('large', 'i=0; while [ $i -lt 40 ]; do echo "$WIELD_PARAM_TEXT of $i"; i=$((i+1)); done');
  tool('guarded', 'echo "$WIELD_PARAM_TEXT"');
  for (let at = 0; at < GROUPS; at++) tool(`only-g${at}`, 'echo ok');
  const others = Array.from({ length: GROUPS }, (_, at) =>
    Array.from({ length: GROUPS }, (_, of) => (of === at ? [] : [`"only-g${at}($group=g${of},$deny)"`])).flat(),
  );
  const tables = users.map(({ name, group, token }) => {
    write(join(home, 'tokens', name), `${token}\n`);
    return `[serve.tokens.${name}]\nfile = "~/tokens/${name}"\ngroups = ["${group}"]\n`;
  });
  const rules = [...others.flat(), '"guarded($policy=ask)"'].join(', ');
  const limits = '[limits]\nqueue = 5000\n[results]\ninline = 300\n';
  write(join(home, '.wield/config.toml'), `${limits}[trust]\nrules = [${rules}]\n${tables.join('')}`);
}

/** What clients saw, and what must not be. */
function createTally() {
  return { calls: 0, handles: 0, tasks: 0, approvals: 0, lists: 0, sessions: 0, foreign: 0, faults: [] };
}

/**
 * Keeps the clients of all users busy, and returns a tally. `approve(id)` answers a waiting call. Every fault is something of one
 * user that reached another, or an answer that is not that of the request.
 */
export async function soakUsers({ url, users, clients, seconds, approve }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 128 });
  const tally = createTally();
  // What each user has, for the others to try.
  const owned = { handles: [], tasks: [], sessions: [], granted: new Map(), ran: new Map() };
  const until = performance.now() + seconds * 1000;
  const isOver = () => performance.now() >= until;
  // A server has at most 256 sessions of the older protocol version.
  const all = users.flatMap((user) =>
    Array.from({ length: clients }, (_, at) =>
      createClient({ url, agent, user, label: `${user.name}-${at}`, isOlder: at % 4 === 0 }),
    ),
  );
  const work = all.map(async (client) => {
    while (!isOver()) {
      await sleep(Math.random() * 50);
      try {
        await takeStep(client, { tally, owned, approve });
      } catch (error) {
        tally.faults.push(`${client.label}: ${error.message}`);
      }
    }
  });
  await Promise.all(work);
  agent.destroy();
  return tally;
}

const pick = (list) => list[Math.floor(Math.random() * list.length)];
const foreignOf = (list, user) => pick(list.filter((one) => one.user !== user.name));
const keep = (list, one) => {
  list.push(one);
  if (list.length > 500) list.shift();
};

async function takeStep(client, { tally, owned, approve }) {
  const { user } = client;
  const expect = (condition, what) => {
    if (!condition) tally.faults.push(`${client.label}: ${what}`);
  };
  const text = `${client.label} ${++client.count}`;
  const step = Math.random() * 100;
  tally.calls++;
  if (step < 45) {
    const { content } = await client.call('echo', { text });
    expect(content === `${text}\n`, `the answer to "${text}" was "${content.slice(0, 200)}"`);
  } else if (step < 60) {
    const { session } = client;
    const { content } = await client.call('large', { text });
    const [handle] = /r_[\w-]+/.exec(content) ?? [];
    if (handle === undefined) return expect(false, `no handle: ${content.slice(0, 200)}`);
    keep(owned.handles, { user: user.name, handle });
    const own = await client.call('read_result', { id: handle });
    // A session may have given way to others meanwhile, and its results with it.
    const isSame = session !== undefined ? session === client.session : !client.isOlder;
    if (isSame)
      expect(own.content.includes(`${text} of 0`), `an own result was not found: ${own.content.slice(0, 200)}`);
    tally.handles++;
  } else if (step < 70) {
    const foreign = foreignOf(owned.handles, user);
    if (foreign === undefined) return;
    const { isError, content } = await client.call('read_result', { id: foreign.handle });
    expect(isError && !content.includes(foreign.user), `read a result of ${foreign.user}: ${content.slice(0, 200)}`);
    tally.foreign++;
  } else if (step < 78) await stepTask(client, text, { tally, owned, expect });
  else if (step < 86) await stepList(client, { tally, expect });
  else if (step < 92) await stepSession(client, { tally, owned, expect });
  else await stepApproval(client, { tally, owned, expect, approve });
}

async function stepTask(client, text, { tally, owned, expect }) {
  if (!client.isOlder) return;
  const { user } = client;
  const foreign = foreignOf(owned.tasks, user);
  if (foreign !== undefined) {
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      const { error } = await client.send(method, { taskId: foreign.id });
      expect(error !== undefined, `${method} found a task of ${foreign.user}`);
    }
    tally.foreign++;
  }
  const created = await client.send('tools/call', { name: 'echo', arguments: { text }, task: { ttl: 60_000 } });
  const id = created.result?.task?.taskId;
  if (id === undefined) return expect(false, `no task: ${JSON.stringify(created).slice(0, 200)}`);
  keep(owned.tasks, { user: user.name, id });
  const answer = await client.send('tasks/result', { taskId: id });
  // The session may have been replaced meanwhile, and its tasks with it.
  if (answer.error === undefined)
    expect(
      answer.result?.content?.[0]?.text === `${text}\n`,
      `the result of a task was ${JSON.stringify(answer.result)?.slice(0, 200)}`,
    );
  tally.tasks++;
}

async function stepList(client, { tally, expect }) {
  const { result } = await client.send('tools/list', {});
  const names = (result?.tools ?? []).map(({ name }) => name).filter((name) => name.startsWith('only-'));
  expect(names.join() === `only-${client.user.group}`, `the list had ${names.join()}`);
  tally.lists++;
}

async function stepSession(client, { tally, owned, expect }) {
  const foreign = foreignOf(owned.sessions, client.user);
  if (client.session !== undefined) keep(owned.sessions, { user: client.user.name, session: client.session });
  if (foreign === undefined) return;
  const { status } = await client.post(
    { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    { 'mcp-session-id': foreign.session },
  );
  expect(status === 404, `the session of ${foreign.user} answered ${status}`);
  tally.sessions++;
}

// All users call with the same input: an approval counts for the one who asked, once.
async function stepApproval(client, { tally, owned, expect, approve }) {
  const { user } = client;
  // Counted before: the answer arrives after the approval was used.
  const { isError, content, meta } = await client.call('guarded', { text: 'the same for all' });
  if (!isError) {
    const ran = (owned.ran.get(user.name) ?? 0) + 1;
    owned.ran.set(user.name, ran);
    expect(
      ran <= (owned.granted.get(user.name) ?? 0),
      `ran ${ran} times with ${owned.granted.get(user.name) ?? 0} approvals`,
    );
    tally.approvals++;
    return;
  }
  const id = meta?.['wield/error']?.data?.id;
  if (id === undefined)
    return expect(/needs_approval|busy/.test(content), `a guarded call ended with ${content.slice(0, 200)}`);
  if (Math.random() > 0.3 || owned.granted.has(user.name)) return;
  owned.granted.set(user.name, 1);
  await approve(id);
}

function createClient({ url, agent, user, label, isOlder }) {
  const client = { user, label, isOlder, count: 0, session: undefined };
  client.post = (body, more = {}) =>
    new Promise((resolve, reject) => {
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${user.token}`,
        ...more,
      };
      const sent = request(url, { method: 'POST', agent, headers }, (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const whole = Buffer.concat(chunks).toString('utf8');
          const lines = whole.startsWith('{')
            ? [whole]
            : [...whole.matchAll(/^data: *(\{.+)$/gm)].map(([, data]) => data);
          const messages = lines.map((line) => JSON.parse(line));
          const message = messages.find(({ id, method }) => id === body.id && method === undefined);
          resolve({ status: response.statusCode, session: response.headers['mcp-session-id'], message });
        });
      });
      sent.on('error', reject);
      sent.end(JSON.stringify(body));
    });
  const open = async () => {
    const params = { protocolVersion: OLDER, capabilities: {}, clientInfo: { name: 'soak', version: '1' } };
    const { session, status } = await client.post({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
    if (session === undefined) throw new Error(`no session: ${status}`);
    client.session = session;
    await client.post({ jsonrpc: '2.0', method: 'notifications/initialized' }, { 'mcp-session-id': session });
  };
  /** Returns the message of the answer. */
  client.send = async (method, params) => {
    for (let attempt = 0; attempt < 10; attempt++) {
      const id = `${label}/${++client.count}`;
      if (isOlder && client.session === undefined) await open();
      const body = { jsonrpc: '2.0', id, method, params: isOlder ? params : { ...params, _meta: META } };
      const more = isOlder
        ? { 'mcp-session-id': client.session, 'mcp-protocol-version': OLDER }
        : { 'mcp-protocol-version': NEWER, 'mcp-method': method, 'mcp-name': params?.name ?? '' };
      const { status, message } = await client.post(body, more);
      if (message !== undefined) return message;
      // The oldest session gives way if too many are open.
      if (status === 404) client.session = undefined;
      else if (status !== 503 && status !== 429) throw new Error(`${method} was answered with ${status}`);
      await sleep(100);
    }
    throw new Error(`${method} was not answered`);
  };
  client.call = async (name, input) => {
    const { result, error } = await client.send('tools/call', { name, arguments: input });
    if (error !== undefined) return { isError: true, content: error.message, meta: error.data };
    const content = (result.content ?? []).map(({ text = '' }) => text).join('\n');
    return { isError: result.isError === true, content, meta: result._meta };
  };
  return client;
}

async function main() {
  const [count, clients, seconds] = [50, 20, Number(process.env.SOAK_SECONDS ?? 120)];
  const root = mkdtempSync(join(tmpdir(), 'wield-users-soak-'));
  const [dir, home] = [join(root, 'project'), join(root, 'home')];
  const users = createUsers(count);
  writeSetup({ dir, home, users });
  const env = { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8', WIELD_HOME: join(home, '.wield') };
  const binary = join(ROOT, 'dist/cli/wield.cjs');
  const child = spawn(process.execPath, [binary, 'serve', '--http', '0', '--trust'], {
    cwd: dir,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [first] = await once(child.stdout, 'data');
    const run = promisify(execFile);
    const approve = (id) => run(process.execPath, [binary, 'approvals', 'approve', id], { cwd: dir, env });
    const tally = await soakUsers({ url: first.toString('utf8').trim(), users, clients, seconds, approve });
    for (const fault of tally.faults.slice(0, 20)) console.error(fault);
    const row = `| ${count} × ${clients} | ${seconds} s | ${tally.calls} | ${tally.handles} | ${tally.tasks} | ${tally.lists} | ${tally.approvals} | ${tally.foreign + tally.sessions} | ${tally.faults.length} |`;
    console.log(row);
    writeReport(row);
    process.exitCode = tally.faults.length === 0 ? 0 : 1;
  } finally {
    child.kill('SIGTERM');
    await (child.exitCode ?? once(child, 'exit'));
    rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

function writeReport(row) {
  const file = join(ROOT, 'docs/reports/soak.md');
  const text = readFileSync(file, 'utf8');
  writeFileSync(
    file,
    text.replace(/^\| \d+ × \d+ \|.*$/m, () => row),
  );
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await main();
