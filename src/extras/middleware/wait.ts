// A delay that ends with its call.

import { ToolError } from '../../core/error.js';
import type { ServedCall } from '../../runtime/middleware.js';

/** Resolves after a delay. Throws `cancelled` if the call is cancelled. */
export function wait(milliseconds: number, { signal, tool }: ServedCall): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(
        new ToolError('cancelled', `${tool.name} was cancelled while it waited`, {
          hint: 'call it again if that was not intended',
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
