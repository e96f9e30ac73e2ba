// Notes which variables a command reads.

import type { Io } from '../io.js';

// Variables that decide what is listed; the value of any other one may be a secret, and is not written.
const KEPT_VARIABLES = new Set(['HOME', 'WIELD_HOME', 'MIND_HOME', 'WIELD_LOG', 'OCTOMIND_LOG']);
// Used for printing, which is not kept.
const PRINTING = new Set(['NO_COLOR', 'CI', 'TERM', 'COLUMNS']);

export function observeVariables(given: Io['env']) {
  const read = new Map<string, string | null>();
  let isComplete = true;
  const note = (name: string | symbol): void => {
    if (typeof name !== 'string' || PRINTING.has(name)) return;
    const value = given[name] ?? null;
    if (value !== null && !KEPT_VARIABLES.has(name)) isComplete = false;
    read.set(name, value);
  };
  return {
    env: new Proxy(given, {
      get(target, name) {
        note(name);
        return Reflect.get(target, name);
      },
      has(target, name) {
        note(name);
        return Reflect.has(target, name);
      },
      getOwnPropertyDescriptor(target, name) {
        note(name);
        return Reflect.getOwnPropertyDescriptor(target, name);
      },
      ownKeys(target) {
        isComplete = false;
        return Reflect.ownKeys(target);
      },
    }),
    // Without HOME, the home directory comes from the system.
    values: () => (isComplete && typeof given.HOME === 'string' ? Object.fromEntries(read) : undefined),
  };
}
