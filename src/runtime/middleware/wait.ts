// Waits within a call: ends at once where the call does.

import { ToolError } from '../../core/error.js';
import type { ServedCall } from '../../core/middleware.js';

/** Resolves after so many milliseconds; throws `cancelled` when the call's signal ends it. */
export function wait(milliseconds: number, { signal, tool }: ServedCall): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(
        new ToolError('cancelled', `${tool.name} was cancelled while it waited`, {
          hint: 'call it again if that was not meant',
        }),
      );
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, milliseconds);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}
