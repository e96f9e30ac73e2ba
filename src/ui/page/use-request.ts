// A hook for an action or a fetch: whether it runs, its result, and what went wrong.

import { type Signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ErrorValue } from '../../core/error.js';
import { toErrorValue } from './client.js';

export interface Task<T> {
  readonly value: Signal<T | undefined>;
  readonly error: Signal<ErrorValue | undefined>;
  readonly isBusy: Signal<boolean>;
  /** Runs the action, unless it runs already; the result of an older run is never shown over a newer one. */
  readonly run: (action: () => Promise<T>) => Promise<void>;
}

export function useTask<T>(): Task<T> {
  const value = useSignal<T | undefined>(undefined);
  const error = useSignal<ErrorValue | undefined>(undefined);
  const isBusy = useSignal(false);
  const newest = useSignal(0);
  return {
    value,
    error,
    isBusy,
    async run(action) {
      const number = ++newest.value;
      isBusy.value = true;
      error.value = undefined;
      try {
        const result = await action();
        if (number === newest.value) value.value = result;
      } catch (thrown) {
        if (number === newest.value) error.value = toErrorValue(thrown);
      } finally {
        if (number === newest.value) isBusy.value = false;
      }
    },
  };
}

/** Fetches when the component appears, and again when a dependency changes. */
export function useFetch<T>(action: () => Promise<T>, dependencies: readonly unknown[]): Task<T> {
  const task = useTask<T>();
  useEffect(() => {
    task.run(action);
  }, dependencies);
  return task;
}
