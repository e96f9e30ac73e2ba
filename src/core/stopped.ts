// The two ends that a call has from outside: its time is up, or nobody wants its answer any more.

import { ToolError } from './error.js';
import { formatDuration } from './text.js';

/** `how` says what happened in that time: it did not end, or did not answer. */
export function timedOut(tool: string, timeoutMs: number, how = 'did not end'): ToolError {
  return new ToolError('timeout', `${tool} ${how} within ${formatDuration(timeoutMs)}`, {
    hint: 'give it longer, or let it do less in one call',
    data: { timeoutMs },
  });
}

export function cancelled(tool: string): ToolError {
  return new ToolError('cancelled', `${tool} was cancelled`, { hint: 'call it again if that was not meant' });
}
