// The scope of a call, for tests that run an executor directly.

import { CallController } from '../../src/core/call-controller.js';
import type { CallScope } from '../../src/core/executor.js';
import type { Snapshot } from '../../src/core/snapshot.js';

/** Returns the scope of a call by code that makes no nested calls. */
export function createCallScope(snapshot: Snapshot): CallScope {
  const controller = new CallController();
  const refuse = (): Promise<never> => Promise.reject(new Error('not here'));
  return {
    id: 'test',
    caller: { kind: 'code', door: 'library' },
    options: {},
    snapshot,
    controller,
    store: null,
    progress: () => {},
    call: refuse,
    delegate: refuse,
    read: refuse,
    foresee: refuse,
    enter: async () => {},
    whileAsked: () => {},
    rights: () => '',
  };
}
