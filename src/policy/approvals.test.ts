// Tests of stored approvals: used once, bound to the call, expiring, limited in number.

import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ApprovalRecord } from '../core/approval.js';
import type { Caller } from '../core/caller.js';
import type { Json } from '../core/json.js';
import type { Plan } from '../core/plan.js';
import type { Tool } from '../core/tool.js';
import { createApprovalStore } from './approvals.js';
import { idOf, standingIdOf, toRecord } from './binding.js';

const DAY = 24 * 3_600_000;
const START = 1_700_000_000_000;
const MODEL: Caller = { kind: 'model', door: 'mcp', name: 'ada' };

interface Call {
  readonly input?: Json;
  readonly digest?: string;
  readonly caller?: Caller;
  readonly argv?: readonly string[];
  readonly value?: string;
  readonly workdir?: string;
  readonly programs?: readonly string[];
}

function recordOf(call: Call = {}): ApprovalRecord {
  const {
    input = {},
    digest = 'd1',
    caller = MODEL,
    argv = ['x'],
    value = '1',
    workdir = '/w',
    programs = ['program /bin/x 1'],
  } = call;
  const tool = {
    name: 'deploy',
    description: 'Deploy.',
    origin: { uri: 'file:///deploy', digest, owner: 'workspace' },
    input: { json: { type: 'object' } },
    traits: {},
    action: { kind: 'function' },
  } as unknown as Tool;
  const plan = {
    kind: 'process',
    tool,
    input,
    launcher: [],
    binary: '/bin/x',
    argv,
    environment: { A: value },
  };
  const verdict = { verdict: 'ask' as const, rule: null, reason: 'a rule asks first' };
  const given = { caller, verdict, workdir, programs, key: 'k', secrets: [], now: START };
  return toRecord({ plan: plan as unknown as Plan, ...given });
}

function createStore() {
  const directory = mkdtempSync(join(tmpdir(), 'wield-approvals-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const clock = { now: START };
  return { directory, clock, store: createApprovalStore({ directory, now: () => clock.now }) };
}

test('an approval is used once', async () => {
  const { store } = createStore();
  const record = recordOf();
  store.ask(record);
  await store.approve(idOf(record), false);
  expect(store.take(record)).toEqual({ id: idOf(record), by: 'record', at: expect.any(String) });
  expect(store.take(record)).toBeUndefined();
});

test('an approval is bound to input, command line, environment, tool, caller and directory', async () => {
  const others: Call[] = [
    { input: { a: 1 } },
    { argv: ['x', 'y'] },
    { value: '2' },
    { digest: 'd2' },
    { caller: { ...MODEL, name: 'eve' } },
    { caller: { ...MODEL, kind: 'person' } },
    { workdir: '/other' },
    { programs: ['program /bin/x 2'] },
  ];
  for (const other of others) {
    const { store } = createStore();
    store.ask(recordOf());
    await store.approve(idOf(recordOf()), false);
    expect([other, store.take(recordOf(other))]).toEqual([other, undefined]);
    expect(store.take(recordOf())).toBeDefined();
  }
});

test('a standing approval is valid for one version of the tool, one caller and one directory', async () => {
  const { store } = createStore();
  store.always(recordOf());
  expect(store.take(recordOf({ input: { a: 2 } }))?.by).toBe('standing');
  const others: Call[] = [
    { digest: 'd2' },
    { caller: { ...MODEL, name: 'eve' } },
    { workdir: '/other' },
    { programs: ['program /bin/x 2'] },
    { programs: [] },
  ];
  for (const other of others) expect([other, store.take(recordOf(other))]).toEqual([other, undefined]);
});

test('refused calls do not count as pending, and the oldest of them give way', async () => {
  const { store, clock } = createStore();
  for (let at = 0; at < 130; at++) {
    clock.now += 1000;
    store.ask(recordOf({ input: at }));
    await store.deny(idOf(recordOf({ input: at })));
  }
  store.ask(recordOf({ input: 'more' }));
  expect(store.list().filter(({ state }) => state === 'denied')).toHaveLength(64);
  expect(() => store.ask(recordOf({ input: 129 }))).toThrow('a person refused this call');
});

// Several calls of a tool may be pending, and two processes may answer at the same time.
test('a revoked standing approval is revoked, however often it was given', async () => {
  const { store, clock, directory } = createStore();
  const calls = [1, 2].map((a) => recordOf({ input: { a } }));
  for (const call of calls) store.ask(call);
  for (const call of calls) {
    clock.now += 1000;
    await store.approve(idOf(call), true);
  }
  expect(store.list().map(({ state, since }) => [state, since])).toEqual([['standing', START + 1000]]);
  const [name] = readdirSync(directory).filter((one) => one.includes('.standing'));
  cpSync(join(directory, name!), join(directory, name!.replace(`${START + 1000}`, `${START + 1500}`)));
  await store.deny(standingIdOf(calls[0]!));
  expect(store.list()).toEqual([]);
  expect(store.take(calls[1]!)).toBeUndefined();
});

test('a refused call is not asked again, and at most 64 wait', async () => {
  const { store } = createStore();
  const record = recordOf();
  store.ask(record);
  await store.deny(idOf(record));
  expect(() => store.ask(record)).toThrow('a person refused this call');
  for (let at = 1; at <= 64; at++) store.ask(recordOf({ input: at }));
  expect(() => store.ask(recordOf({ input: 'more' }))).toThrow('64 calls are already pending');
  // No user keeps another from asking.
  const ada = { ...MODEL, user: 'ada' };
  for (let at = 0; at < 64; at++) store.ask(recordOf({ caller: ada, input: at }));
  for (const caller of [ada, { ...ada, kind: 'code' as const }])
    expect(() => store.ask(recordOf({ caller, input: 'more' }))).toThrow('64 of your calls are already pending');
  for (const caller of [
    { ...MODEL, user: 'bo' },
    { ...ada, issuer: 'https://other.example' },
  ])
    store.ask(recordOf({ caller }));
});

test('an approval expires, also if the clock was set back', async () => {
  for (const [now, isValid] of [
    [START + DAY - 1000, true],
    [START + DAY + 1000, false],
    [START - 30_000, true],
    [START - DAY, false],
  ] as const) {
    const { store, clock } = createStore();
    const record = recordOf();
    store.ask(record);
    await store.approve(idOf(record), false);
    clock.now = now;
    expect([now, store.take(record) !== undefined]).toEqual([now, isValid]);
  }
});

test('an edited or renamed file is not an approval', async () => {
  const { store, directory } = createStore();
  const record = recordOf();
  store.ask(record);
  await store.approve(idOf(record), false);
  const file = join(directory, readdirSync(directory).find((name) => name.includes('.approved'))!);
  writeFileSync(file, readFileSync(file, 'utf8').replace('"workdir": "/w"', '"workdir": "/other"'));
  expect(store.list()).toEqual([]);
  expect(store.take(record)).toBeUndefined();
  const standing = createStore();
  standing.store.always(recordOf());
  const [name] = readdirSync(standing.directory).filter((one) => one.includes('.standing'));
  const other = recordOf({ digest: 'd2' });
  renameSync(
    join(standing.directory, name!),
    join(standing.directory, name!.replace(standingIdOf(recordOf()), standingIdOf(other))),
  );
  expect(standing.store.take(other)).toBeUndefined();
});
