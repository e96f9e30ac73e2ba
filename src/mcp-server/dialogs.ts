// What a client can show its person, and how many questions may stand before them at once.

import { isRecord } from '../core/json.js';

/** What a client said that it can show. */
export interface Shows {
  readonly forms: boolean;
  readonly pages: boolean;
}

export interface Dialogs {
  /** A place for a question, or undefined where all are taken. The function gives it back. */
  tryOpen(): (() => void) | undefined;
  /** A place for a question, when one is free. Rejects where nobody waits for it any more. */
  open(signal: AbortSignal): Promise<() => void>;
}

// A model must not flood the person, nor this process.
const MAX_DIALOGS = 16;

// The capability without a mode is older than modes, and meant forms.
export function readShows(capabilities: unknown): Shows {
  const elicitation = isRecord(capabilities) ? capabilities.elicitation : undefined;
  if (!isRecord(elicitation)) return { forms: false, pages: false };
  const pages = elicitation.url !== undefined;
  return { forms: elicitation.form !== undefined || !pages, pages };
}

export function createDialogs(): Dialogs {
  let taken = 0;
  const queue: (() => void)[] = [];
  const toRelease = (): (() => void) => {
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      const next = queue.shift();
      if (next === undefined) taken--;
      else next();
    };
  };
  const tryOpen = (): (() => void) | undefined => {
    if (taken >= MAX_DIALOGS) return undefined;
    taken++;
    return toRelease();
  };
  return {
    tryOpen,
    open(signal) {
      const release = tryOpen();
      if (release !== undefined) return Promise.resolve(release);
      return new Promise((resolve, reject) => {
        const onAbort = (): void => {
          queue.splice(queue.indexOf(enter), 1);
          reject(signal.reason);
        };
        const enter = (): void => {
          signal.removeEventListener('abort', onAbort);
          resolve(toRelease());
        };
        if (signal.aborted) return reject(signal.reason);
        queue.push(enter);
        signal.addEventListener('abort', onAbort, { once: true });
      });
    },
  };
}
