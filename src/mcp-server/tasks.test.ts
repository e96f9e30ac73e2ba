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
  expect([await start('e', 'other'), await start('a', 'more'), await start('a', 'another')]).toEqual([
    expect.stringContaining('too many'),
    'started',
    expect.stringContaining('too many'),
  ]);
  tasks.endSession('b');
  expect(await start('e', 'other')).toBe('started');
  tasks.close();
});
