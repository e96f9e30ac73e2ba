// A counting semaphore with a first-in, first-out queue.

/** Frees the slot; further calls do nothing. */
export type Release = () => void;

export interface Semaphore {
  /** Waits for a slot. Rejects with the signal's reason when the signal is aborted first. */
  acquire(signal?: AbortSignal): Promise<Release>;
}

export function createSemaphore(slots: number): Semaphore {
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
    acquire(signal) {
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
