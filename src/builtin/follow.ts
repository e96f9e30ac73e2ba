// Follows skills and documents: compared every second, because any process can change them.

import { guardListener, inBackground } from '../core/async.js';
import type { Snapshot } from '../core/snapshot.js';

interface Followed {
  readonly snapshot: () => Snapshot;
  readonly listeners: Set<() => void>;
  last: Promise<string>;
}

const INTERVAL_MS = 1000;

/**
 * Returns what calls a listener when the value of a URI changes, until the function that it returns is called. `read` returns
 * a text that differs when the resource does.
 */
export function createFollow(
  read: (uri: string, snapshot: Snapshot) => Promise<string>,
  debug: (message: string) => void,
) {
  const followed = new Map<string, Followed>();
  let timer: NodeJS.Timeout | undefined;
  // What cannot be read any more has changed too.
  const readNow = (uri: string, snapshot: () => Snapshot): Promise<string> =>
    Promise.resolve()
      .then(() => read(uri, snapshot()))
      .catch(() => '');
  const compare = async (): Promise<void> => {
    for (const [uri, one] of followed) {
      const before = await one.last;
      one.last = readNow(uri, one.snapshot);
      if ((await one.last) !== before) for (const listener of one.listeners) listener();
    }
  };
  const schedule = (): void => {
    if (timer !== undefined || followed.size === 0) return;
    const next = async (): Promise<void> => {
      await compare();
      timer = undefined;
      schedule();
    };
    timer = setTimeout(() => inBackground(next(), debug), INTERVAL_MS).unref();
  };
  return (uri: string, snapshot: () => Snapshot, onUpdate: () => void): (() => void) => {
    const one = followed.get(uri) ?? { snapshot, listeners: new Set(), last: readNow(uri, snapshot) };
    followed.set(uri, one);
    const listener = guardListener(() => onUpdate(), debug);
    one.listeners.add(listener);
    schedule();
    return () => {
      one.listeners.delete(listener);
      if (one.listeners.size === 0) followed.delete(uri);
    };
  };
}
