// Asynchronous work: promises, in the background, in turns of the event loop, and limited to a number at the same time.

type Report = (message: string) => void;

/** Reports the failure of a promise that nobody waits for. */
export function inBackground(work: Promise<unknown> | undefined, report: Report): void {
  work?.catch((error: unknown) => report(`failed in the background: ${String(error)}`));
}

/**
 * Wraps a listener so that a failure of it, also an asynchronous one, ends neither the call nor the process. What it
 * returns can be waited for.
 */
export function guardListener<Arguments extends unknown[]>(
  listener: (...args: Arguments) => unknown,
  report: Report,
): (...args: Arguments) => Promise<void> | undefined {
  const fail = (error: unknown): void => report(`a listener failed: ${String(error)}`);
  return (...args) => {
    try {
      const result = listener(...args);
      return result === undefined ? undefined : Promise.resolve(result).then(() => {}, fail);
    } catch (error) {
      fail(error);
      return undefined;
    }
  };
}

/** A promise that is settled from outside. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

export function deferred<T>(): Deferred<T> {
  let resolve!: Deferred<T>['resolve'];
  let reject!: Deferred<T>['reject'];
  const promise = new Promise<T>((fulfill, fail) => {
    resolve = fulfill;
    reject = fail;
  });
  return { promise, resolve, reject };
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Calls a listener when a signal is aborted, at once if it is already; the returned function removes it. */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) listener();
  else signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}

/** Pauses, at most until a signal is aborted. */
export function pauseUnlessAborted(milliseconds: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = deferred<void>();
  const timer = setTimeout(resolve, milliseconds);
  const unlisten = onAbort(signal, resolve);
  return promise.finally(() => {
    clearTimeout(timer);
    unlisten();
  });
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => onAbort(signal, resolve));
}

/** Settles like a promise; rejects with `toError` once the signal is aborted. The work itself goes on. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal, toError: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const unlisten = onAbort(signal, () => reject(toError()));
    promise.then(resolve, reject).finally(unlisten);
  });
}

// Much less than a person notices.
const TURN_MS = 10;

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Returns a function to await between steps: it waits for the next turn if this one has taken long. */
export function createTurns(): () => Promise<void> {
  // Not `performance`, which takes 4 ms to load: a clock that is set costs a turn at most.
  let began = Date.now();
  return async () => {
    if (Math.abs(Date.now() - began) < TURN_MS) return;
    await nextTurn();
    began = Date.now();
  };
}

/** Returns a function that reads once at a time: all that ask until the next turn, or while another one reads, share a read. */
export function shareNext<T>(read: () => Promise<T>): () => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  return () => {
    next ??= last.then(nextTurn).then(() => {
      next = undefined;
      return read();
    });
    last = next.catch(() => {});
    return next;
  };
}

/** Frees the slot; further calls do nothing. */
type Release = () => void;

export function createSemaphore(slots: number) {
  let taken = 0;
  const queue: (() => void)[] = [];
  const toRelease = (): Release => {
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const next = queue.shift();
      if (next === undefined) taken--;
      else next();
    };
  };
  return {
    /** Waits for a slot. Rejects with the signal's reason when the signal is aborted first. */
    acquire(signal?: AbortSignal): Promise<Release> {
      if (taken < slots) {
        taken++;
        return Promise.resolve(toRelease());
      }
      return new Promise((resolve, reject) => {
        const onAbort = (): void => {
          queue.splice(queue.indexOf(enter), 1);
          reject(signal!.reason);
        };
        const enter = (): void => {
          signal?.removeEventListener('abort', onAbort);
          resolve(toRelease());
        };
        if (signal?.aborted) return reject(signal.reason);
        queue.push(enter);
        signal?.addEventListener('abort', onAbort, { once: true });
      });
    },
  };
}
