// Failing upstream servers, next to a server and a script that keep working.

import { existsSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { textOf } from '../../src/index.js';
import { json, wield } from '../support/cli.js';
import { connectProcess } from '../support/clients.js';
import { some } from '../support/effort.js';
import { patience } from '../support/patience.js';
import { sleep } from '../support/processes.js';
import { type Message, type StdioServer, serveStdio, until } from '../support/server.js';
import { share } from '../support/share.js';
import { shellScript } from '../support/shell-script.js';
import { spec } from '../support/spec.js';
import { createUpstreamWorkspace, isAlive, type UpstreamWorkspace } from '../support/upstream-workspace.js';

// How much longer than usual a call of another tool may take while a server misbehaves.
const SLACK_MS = 20_000;
const SLACK_FACTOR = 20;

const codeOf = ({ result, error }: Message): string | undefined =>
  (result?._meta ?? error?.data)?.['wield/error']?.code;
const saidBy = ({ result, error }: Message): string =>
  result?.content?.map((part: Message) => part.text).join('\n') ?? JSON.stringify(error);

let ids = 0;
const callTool = (server: StdioServer, name: string, input: object = {}): Promise<Message> =>
  server.request(`call-${++ids}`, 'tools/call', { name, arguments: input });

// The time that the same calls took before anything went wrong, which depends on the load of the machine.
const usualMs = new WeakMap<StdioServer, number>();

/** Calls a tool of the working server and a script, and returns the milliseconds that both took. */
async function callOthers(server: StdioServer): Promise<number> {
  const began = performance.now();
  const [remote, script] = await Promise.all([
    callTool(server, 'good_echo', { text: 'hello' }),
    callTool(server, 'hello'),
  ]);
  expect(saidBy(remote)).toBe('hello');
  expect(saidBy(script)).toBe('hello');
  return performance.now() - began;
}

async function expectOthersWork(server: StdioServer): Promise<void> {
  expect(await callOthers(server)).toBeLessThan(limitOf(server));
}

const limitOf = (server: StdioServer): number => SLACK_MS + SLACK_FACTOR * usualMs.get(server)!;

function expectOnlyProtocol(server: StdioServer): void {
  for (const line of server.lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
}

function createPair(mode: string, more: Record<string, unknown> = {}): UpstreamWorkspace {
  const workspace = createUpstreamWorkspace({ good: {}, odd: { mode, more } });
  workspace.script('hello', shellScript('printf hello'));
  return workspace;
}

async function start(workspace: UpstreamWorkspace): Promise<StdioServer> {
  const server = serveStdio(workspace);
  await server.initialize();
  // Both servers were listed before anything is called.
  await server.request('first', 'tools/list');
  return server;
}

async function serve(workspace: UpstreamWorkspace): Promise<StdioServer> {
  const server = await start(workspace);
  usualMs.set(server, await callOthers(server));
  return server;
}

const listedBy = async (server: StdioServer): Promise<string[]> =>
  (await server.request(`list-${++ids}`, 'tools/list')).result.tools.map(({ name }: { name: string }) => name);

// They mostly wait.
describe.concurrent('a server that does not start', () => {
  const MODES = [
    ['exits', /exited with status 2; last output: first line \| no configuration found/],
    ['gone', /exited with status 4/],
    ['wrong', /could not start/],
    ['endless', /more than 16 MiB/],
  ] as const;
  for (const [mode, says] of some(MODES, 1)) {
    spec('UPS-4', `${mode}: is reported with its output and slows nothing down`, async () => {
      const workspace = createPair(mode, { startTimeout: '60s' });
      const server = await serve(workspace);
      expect(await listedBy(server)).toContain('good_echo');
      await expectOthersWork(server);
      expectOnlyProtocol(server);

      const list = await wield(workspace, ['list']);
      expect(list.stdout).toContain('good_echo');
      expect(list.stdout).not.toContain('odd_');
      expect(list.stderr).toMatch(/1 problem/);
      const problems: Message[] = json(await wield(workspace, ['list', '--json'])).problems;
      expect(problems.map(({ message }) => message).join('\n')).toMatch(says);
      const doctor = await wield(workspace, ['doctor']);
      expect(doctor.stdout + doctor.stderr).toMatch(says);
      const call = json(await wield(workspace, ['call', 'odd_echo', '--json'], { stdin: '' }));
      expect([call.error.code, call.error.message]).toEqual(['unavailable', expect.stringMatching(says)]);
    });
  }

  spec.thorough('UPS-4', 'hanging: a listing waits for a limited time, its tools come later', async () => {
    const workspace = createPair('slow-start');
    workspace.config('[limits]\nlisting = "2s"\n');
    let changes = 0;
    const client = await connectProcess(workspace, 'older', ['--trust'], () => {
      changes++;
    });
    const first = (await client.listTools()).tools.map(({ name }) => name);
    const before = changes;
    expect(first).toContain('hello');
    expect(first).not.toContain('odd_echo');
    expect(await client.callTool({ name: 'hello', arguments: {} })).toMatchObject({
      content: [{ type: 'text', text: 'hello' }],
    });
    const isListed = async () => {
      const names = (await client.listTools()).tools.map(({ name }) => name);
      return (name: string): boolean => names.includes(name);
    };
    const isThere = async (): Promise<boolean> => changes > before && ['good_echo', 'odd_echo'].every(await isListed());
    await until(isThere, 'a change of the list');
  });

  spec.thorough('UPS-4', 'never responding: stopped and reported after the start timeout', async () => {
    for (const mode of some(['hang', 'deaf'], 1)) {
      const workspace = createPair(mode, { startTimeout: '2s' });
      const problems = json(await wield(workspace, ['list', '--json'])).problems as Message[];
      expect(problems.map(({ message }) => message)).toEqual([
        expect.stringMatching(/the server odd did not respond within 2 s of starting/),
      ]);
      for (const pid of workspace.starts('odd')) expect(isAlive(pid)).toBe(false);
      const call = await wield(workspace, ['call', 'good_echo', '--text', 'hi']);
      expect(call.stdout).toBe('hi\n');
    }
  });

  spec.thorough('UPS-4', 'works if it prints to stdout or exits on unknown requests', async () => {
    for (const mode of ['greets', 'curt']) {
      const run = await wield(createPair(mode), ['call', 'odd_echo', '--text', 'hi']);
      expect(run).toMatchObject({ status: 0, stdout: 'hi\n' });
    }
  });
});

describe('a server that fails during a call', () => {
  // After each call, the next one succeeds.
  const shared = share(async () => {
    const workspace = createPair('bad');
    return { workspace, server: await serve(workspace) };
  });

  for (const [tool, code, says] of some(
    [
      ['no-object', 'tool_failed', /neither a result nor an error/],
      ['nothing', 'tool_failed', /neither a result nor an error/],
      ['no-list', 'invalid_output', /content must be an array/],
      ['no-part', 'invalid_output', /content\[0\]\.text is missing/],
      ['deep', 'tool_failed', /not read: it has more than .* 256 levels/],
      ['proto', 'invalid_output', /is an object with the key "__proto__"/],
      ['huge', 'tool_failed', /a message of more than 16 MiB/],
      ['huge-last', 'tool_failed', /a message of more than 16 MiB/],
      ['no-line', 'exec_failed', /a message of more than 16 MiB/],
      ['garbage', 'exec_failed', /floods its stdout with unexpected output/],
      ['chatter', 'exec_failed', /floods its stdout with unexpected output/],
      ['close-output', 'exec_failed', /closed its stdout; last output: no more words/],
      ['dies-loudly', 'exec_failed', /exited with status 7; last output: .*the last line/s],
    ] as const,
    6,
  )) {
    spec('UPS-4', `${tool}: the call fails with the reason, others continue`, async () => {
      const { server } = shared();
      const [answer] = await Promise.all([callTool(server, `odd_${tool}`), expectOthersWork(server)]);
      expect([codeOf(answer), saidBy(answer)]).toEqual([code, expect.stringMatching(says)]);
      expect(saidBy(answer)).not.toContain('\u001b');
      await expectOthersWork(server);
      // The next call succeeds.
      expect(saidBy(await callTool(server, 'odd_wrong-id'))).toBe('said');
      expect(server.memory()).toBeLessThan(600);
      expectOnlyProtocol(server);
    });
  }

  spec('UPS-109', 'refuses an answer that is too long, and keeps its process', async () => {
    const { workspace, server } = shared();
    await callTool(server, 'odd_wrong-id');
    const started = workspace.starts('odd').length;
    for (const tool of ['huge', 'huge-last'])
      expect(saidBy(await callTool(server, `odd_${tool}`))).toContain('it is a message of more than 16 MiB');
    expect(saidBy(await callTool(server, 'odd_wrong-id'))).toBe('said');
    expect(workspace.starts('odd')).toHaveLength(started);
  });

  spec('UPS-4', 'ignores unexpected, repeated and contradictory responses', async () => {
    const { server } = shared();
    for (const tool of ['wrong-id', 'twice', 'not-json', 'both', 'wrong-id'])
      expect(saidBy(await callTool(server, `odd_${tool}`))).toBe('said');
    expectOnlyProtocol(server);
  });

  spec('UPS-4', 'endless requests and notifications slow nothing down', async () => {
    const { workspace, server } = shared();
    const started = workspace.starts('odd').length;
    for (const tool of ['requests', 'changes']) {
      const [answer] = await Promise.all([callTool(server, `odd_${tool}`), expectOthersWork(server)]);
      expect(saidBy(answer)).toBe('said');
    }
    await expectOthersWork(server);
    expect(server.memory()).toBeLessThan(600);
    // No question reached the client, which does not support elicitation.
    for (const line of server.lines) expect(JSON.parse(line).method ?? '').not.toMatch(/elicitation|sampling/);
    expect(workspace.starts('odd')).toHaveLength(started);
  });

  spec.thorough('UPS-4', 'keeps only the last lines of much stderr output', async () => {
    const server = await serve(createPair('loud'));
    const before = server.memory();
    for (let round = 0; round < 20; round++) {
      expect(saidBy(await callTool(server, 'odd_echo', { text: 'hi' }))).toBe('hi');
      await sleep(50);
    }
    await expectOthersWork(server);
    expect(server.memory() - before).toBeLessThan(150);
    const lost = await callTool(server, 'odd_die');
    expect(codeOf(lost)).toBe('exec_failed');
    expect(saidBy(lost).length).toBeLessThan(5000);
  });

  spec.thorough('UPS-4', 'is restarted by the next call, with backoff if it dies repeatedly', async () => {
    const workspace = createPair('well');
    const server = await serve(workspace);
    const lost = await callTool(server, 'odd_die');
    expect([codeOf(lost), saidBy(lost)]).toEqual([
      'exec_failed',
      expect.stringMatching(
        /lost the server odd while running odd_die: exited with status 3; last output: about to go/,
      ),
    ]);
    expect(saidBy(await callTool(server, 'odd_echo', { text: 'again' }))).toBe('again');
    expect(workspace.starts('odd')).toHaveLength(2);
    // A response resets the backoff.
    let [began, starts] = [0, 0];
    let refused: Message;
    // The first delay is two seconds, which may be over before the next call is made.
    for (let attempt = 0; attempt < 5; attempt++) {
      for (const _ of [1, 2]) expect(codeOf(await callTool(server, 'odd_die'))).toBe('exec_failed');
      starts = workspace.starts('odd').length;
      began = performance.now();
      refused = await callTool(server, 'odd_echo', { text: 'too soon' });
      if (codeOf(refused) !== undefined) break;
    }
    expect([codeOf(refused), saidBy(refused)]).toEqual([
      'unavailable',
      expect.stringMatching(/odd stopped during a call.*exited with status 3.*retried in \d+ s/s),
    ]);
    expect(performance.now() - began).toBeLessThan(patience(limitOf(server)));
    expect(workspace.starts('odd')).toHaveLength(starts);
    await expectOthersWork(server);
    await until(async () => saidBy(await callTool(server, 'odd_echo', { text: 'back' })) === 'back', 'it is back');
    expect(workspace.starts('odd')).toHaveLength(starts + 1);
  });

  spec('UPS-4', 'in a program: a concurrent call of another tool succeeds', async () => {
    const toolbox = createPair('well').toolbox();
    const [lost, kept] = await Promise.all([toolbox.call('odd_die', {}), toolbox.call('good_slow', { ms: 500 })]);
    expect(lost.error).toMatchObject({
      code: 'exec_failed',
      data: { server: 'odd', lastLines: ['about to go'] },
    });
    expect(textOf(kept)).toBe('done');
  });
});

describe('cleanup', () => {
  spec('UPS-4', 'kills a server that ignores signals, and processes in other groups', async () => {
    const workspace = createUpstreamWorkspace({ odd: { mode: 'bad' }, hard: { mode: 'stubborn' } });
    const toolbox = workspace.toolbox();
    const child = Number(textOf(await toolbox.call('odd_leaves-a-child', {})));
    expect(textOf(await toolbox.call('hard_echo', { text: 'hi' }))).toBe('hi');
    const pids = [...workspace.starts('odd'), ...workspace.starts('hard')];
    expect(pids.map(isAlive)).toEqual([true, true]);
    expect(isAlive(child)).toBe(true);
    await toolbox.close();
    expect([child, ...pids].map(isAlive)).toEqual([false, false, false]);
  });

  spec.thorough('UPS-4', 'kills servers when the client disconnects or wield is killed', async () => {
    for (const signal of some([undefined, 'SIGTERM', 'SIGKILL'] as const, 2)) {
      const workspace = createUpstreamWorkspace({ odd: { mode: 'bad' }, hard: { mode: 'stubborn' } });
      const server = await start(workspace);
      const child = Number(saidBy(await callTool(server, 'odd_leaves-a-child')));
      await callTool(server, 'hard_echo', { text: 'hi' });
      const pids = [...workspace.starts('odd'), ...workspace.starts('hard'), child];
      expect(pids.filter(isAlive)).toHaveLength(3);
      if (signal === undefined) server.child.stdin.end();
      else server.child.kill(signal);
      await server.exited;
      await until(() => !pids.some(isAlive), `nothing is left after ${signal ?? 'the end'}`);
      expect(existsSync(`/proc/${server.pid}`)).toBe(false);
    }
  });
});
