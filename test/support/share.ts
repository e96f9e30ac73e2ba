// Cleanup of what tests create: after the test, or after the last one of those that share it.

import { AsyncLocalStorage } from 'node:async_hooks';
import { afterAll, beforeAll, onTestFinished, type TestContext } from 'vitest';

type Cleanup = () => unknown;

let scope: Cleanup[] | undefined;

// Concurrent tests register cleanups with their own context.
const running = new AsyncLocalStorage<TestContext>();

/** Runs the body of a test whose helpers use `onEnd()`; such tests can run in a `describe.concurrent`. */
export function runInTest<T>(context: TestContext, body: () => T): T {
  return running.run(context, body);
}

/** Runs a cleanup after the test, or after all tests that share what `share()` is creating. */
export function onEnd(cleanup: Cleanup): void {
  const run = async (): Promise<void> => void (await cleanup());
  if (scope !== undefined) scope.push(cleanup);
  else (running.getStore()?.onTestFinished ?? onTestFinished)(run);
}

/** Creates something once for the tests of a file or group. */
export function share<T>(create: () => T | Promise<T>): () => T {
  const cleanups: Cleanup[] = [];
  let value: T;
  beforeAll(async () => {
    scope = cleanups;
    try {
      value = await create();
    } finally {
      scope = undefined;
    }
  });
  afterAll(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  });
  return () => value;
}
