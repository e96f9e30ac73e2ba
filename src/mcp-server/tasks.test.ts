// Tests of how many tasks are kept: of a session, and of all.

import { expect } from 'vitest';
import { spec } from '../../test/support/spec.js';
import type { RequestScope } from './request.js';
import { createTasks } from './tasks.js';

spec('SRV-70', 'a session has at most 64 tasks, all have 256, and those that ended make room', async () => {
  const ends = new Map<unknown, () => void>();
  const tasks = createTasks((params) => new Promise((resolve) => ends.set(params.name, () => resolve({} as never))));
  const scopeOf = (session: string) =>
    ({ client: { session }, isNewer: false, controller: new AbortController() }) as unknown as RequestScope;
  const start = (session: string, name: string) =>
    tasks.start({ name, arguments: {}, task: {} }, scopeOf(session)).then(
      () => 'started',
      (error: Error) => error.message,
    );
  const fill = async (session: string): Promise<number> => {
    for (let at = 0; ; at++) if ((await start(session, `${session}${at}`)) !== 'started') return at;
  };
  expect([await fill('a'), await fill('b'), await fill('c'), await fill('d'), await fill('e')]).toEqual([
    64, 64, 64, 64, 0,
  ]);
  expect(await start('a', 'more')).toBe('too many tasks; cancel one, or wait for one to end');
  ends.get('a7')!();
  await new Promise(setImmediate);
  expect([await start('a', 'more'), await start('e', 'other')]).toEqual([
    'started',
    expect.stringContaining('too many'),
  ]);
  // The session with the most that ended gives way to others.
  for (const name of ['b0', 'c0', 'c1']) ends.get(name)!();
  await new Promise(setImmediate);
  const left = async () => {
    const lists = ['a', 'b', 'c', 'd', 'e'].map((session) => tasks.list({}, scopeOf(session)));
    return (await Promise.all(lists)).map((list) => (list as { tasks: object[] }).tasks.length);
  };
  expect([await start('e', 'other'), await left()]).toEqual(['started', [64, 64, 63, 64, 1]]);
  expect([await start('a', 'another'), await left()]).toEqual([expect.stringContaining('too many'), expect.anything()]);
  tasks.endSession('b');
  expect([await start('e', 'one more'), await left()]).toEqual(['started', [64, 0, 63, 64, 2]]);
  tasks.close();
});
