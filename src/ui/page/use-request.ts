// A hook for an action or a fetch: whether it runs, its result, and what went wrong.

import { batch, type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { ErrorValue } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import { type FormFault, isOpen } from '../form/faults.js';
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
      let [result, wrong]: [T?, ErrorValue?] = [];
      try {
        result = await action();
      } catch (thrown) {
        wrong = toErrorValue(thrown);
      }
      if (number !== newest.value) return;
      batch(() => {
        if (wrong === undefined) value.value = result;
        error.value = wrong;
        isBusy.value = false;
      });
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

export interface Check<T> {
  /** What went wrong, if a person asked. */
  readonly error: ErrorValue | undefined;
  /** The answer for the input as it is now, if a person asked for it. */
  readonly value: T | undefined;
  /** What is wrong with the input; what is missing only after a person asked. */
  readonly faults: readonly FormFault[];
  /** Checks the input at once. */
  readonly ask: () => void;
  /** Forgets the answer. */
  readonly forget: () => void;
}

const TYPING_MS = 250;

/** Checks the input of a form when a person asks for it, and a moment after each change. */
export function useCheck<T>(input: Json, check: (input: Json, isAsked: boolean) => Promise<T>): Check<T> {
  const { value, error, run } = useTask<{ readonly input: Json; readonly answer: T }>();
  const sent = useRef<Json | undefined>(input);
  const asked = useSignal<Json | undefined>(undefined);
  const send = (isAsked: boolean): void => {
    sent.current = input;
    run(async () => ({ input, answer: await check(input, isAsked) }));
  };
  useEffect(() => {
    const timer = setTimeout(() => sent.current !== input && send(false), TYPING_MS);
    return () => clearTimeout(timer);
  }, [input]);
  const faults = (error.value?.data?.faults ?? []) as readonly FormFault[];
  const isKnown = asked.value === input && value.value?.input === input && error.value === undefined;
  return {
    error: asked.value === undefined ? undefined : error.value,
    value: isKnown ? value.value?.answer : undefined,
    faults: asked.value === undefined ? faults.filter((fault) => !isOpen(fault)) : faults,
    ask() {
      asked.value = input;
      send(true);
    },
    forget() {
      value.value = undefined;
      asked.value = undefined;
    },
  };
}
