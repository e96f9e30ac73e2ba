// Faults of shared servers: the broker, servers and sessions are killed at random while sessions with equal ids call.

import { readdirSync } from 'node:fs';
import { describe, expect, vi } from 'vitest';
import { type Deferred, deferred } from '../../src/core/async.js';
import { type BrokerWorkspace, createBrokerWorkspace } from '../support/broker.js';
import { wield } from '../support/cli.js';
import { SEED } from '../support/effort.js';
import { patience } from '../support/patience.js';
import { sleep } from '../support/processes.js';
import { serveHere } from '../support/serve.js';
import { type RawSession, serveStdio } from '../support/server.js';
import { spec } from '../support/spec.js';
import { isAlive } from '../support/upstream-workspace.js';

interface Killable {
  readonly session: RawSession;
  kill(): void;
}

interface Working extends Killable {
  readonly left: Deferred<undefined>;
  isKilled: boolean;
}

interface Load {
  readonly sessions: number;
  readonly kills: number;
  readonly start: (workspace: BrokerWorkspace) => Killable;
}

describe.concurrent('shared servers under kills', () => {
  spec('UPS-120 UPS-119', 'answer every call once, in the session that made it', () =>
    runLoad({
      sessions: 4,
      kills: 8,
      start: (workspace) => {
        const session = serveHere(workspace);
        return { session, kill: () => void session.close() };
      },
    }),
  );

  spec.thorough('UPS-120 UPS-119', 'answer every call once, with 20 sessions and 200 kills', () =>
    runLoad({
      sessions: 20,
      kills: 200,
      start: (workspace) => {
        const session = serveStdio(workspace);
        return { session, kill: () => void session.child.kill('SIGKILL') };
      },
    }),
  );
});

async function runLoad({ sessions: count, kills, start }: Load): Promise<void> {
  const workspace = createBrokerWorkspace();
  const random = createRandom(SEED);
  const outcomes = { answered: 0, failed: 0, left: 0 };
  const wrong: string[] = [];
  let isOver = false;
  let names = 0;
  const sessions: Working[] = [];
  // Calls until it is killed, with the same ids as all others.
  const work = async (at: number): Promise<void> => {
    while (!isOver) {
      const name = `s${++names}`;
      const own: Working = { ...start(workspace), left: deferred<undefined>(), isKilled: false };
      sessions[at] = own;
      const begun = own.session.initialize().then(
        () => true,
        () => false,
      );
      if (!(await Promise.race([begun, own.left.promise])) && !own.isKilled) wrong.push(`${name} was not answered`);
      for (let id = 10; !isOver && !own.isKilled; id++) {
        const text = `${name}-${id}`;
        const params = { name: 'far_echo', arguments: { text } };
        const answer = own.session.request(id, 'tools/call', params).catch(() => undefined);
        const message = await Promise.race([answer, own.left.promise]);
        if (message === undefined) {
          if (own.isKilled) outcomes.left++;
          else wrong.push(`${text} was lost`);
          break;
        }
        const { content, isError } = message.result ?? {};
        if (isError !== true && content?.[0]?.text === text) outcomes.answered++;
        else if (isError === true && /unavailable|exec_failed/.test(JSON.stringify(message))) outcomes.failed++;
        else wrong.push(`${text}: ${JSON.stringify(message).slice(0, 300)}`);
      }
    }
    sessions[at]?.kill();
  };
  const working = Promise.all(Array.from({ length: count }, (_, at) => work(at)));
  await vi.waitFor(() => expect(outcomes.answered).toBeGreaterThan(count), { timeout: patience(20_000) });
  for (let at = 0; at < kills; at++) {
    await sleep(50 + random() * 200);
    const kind = random();
    const session = sessions[Math.floor(random() * count)];
    if (kind < 0.3) killProcess(workspace.brokerPid());
    else if (kind < 0.7) killProcess(workspace.starts('far').at(-1));
    else if (session !== undefined) {
      session.isKilled = true;
      session.left.resolve(undefined);
      session.kill();
    }
  }
  const before = outcomes.answered;
  await vi.waitFor(() => expect(outcomes.answered).toBeGreaterThan(before + count), { timeout: patience(60_000) });
  isOver = true;
  await working;
  expect(wrong).toEqual([]);
  const calls = workspace.received('far').flatMap((line) => / call echo (\S+)$/.exec(line)?.[1] ?? []);
  expect(calls.length).toBe(new Set(calls).size);
  await wield(workspace, ['mcp', 'stop']);
  await vi.waitFor(() => expect(workspace.starts('far').filter(isAlive)).toEqual([]), { timeout: patience(5000) });
  expect(readdirSync(workspace.broker).filter((name) => !name.startsWith('starting'))).toEqual([]);
}

function killProcess(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

// A linear congruential generator, so that a run can be repeated.
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
