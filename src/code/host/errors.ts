// Errors of programs: limits, with the key that sets them, and what ended a program.

import { ToolError } from '../../core/error.js';
import type { CodeLimits } from '../../core/settings.js';
import { count, formatBytes, formatDuration, quoteOutside } from '../../core/text.js';
import type { ProgramError } from '../protocol.js';
import type { JournalEvent } from './journal.js';

/** The error for a limit that a program exceeded; names the key of the configuration (COD-3). */
export function exceeded(limit: 'calls' | 'cpu' | 'memory' | 'timeout', limits: CodeLimits): ToolError {
  const data = { limit: `code.${limit}` };
  switch (limit) {
    case 'calls':
      return new ToolError('too_large', `the program made more than ${count(limits.calls, 'call')} (code.calls)`, {
        hint: 'use a tool that takes several items at once, or split the work over several programs',
        data,
      });
    case 'memory':
      return new ToolError(
        'too_large',
        `the program needs more than ${formatBytes(limits.memoryBytes)} of memory (code.memory)`,
        { hint: 'keep large results as handles, and read parts of them with query() or page()', data },
      );
    case 'cpu':
      return new ToolError(
        'timeout',
        `the program used more than ${formatDuration(limits.cpuMs)} of processor time (code.cpu)`,
        { hint: 'let a tool or a query do the work; time in calls does not count', data },
      );
    case 'timeout':
      return new ToolError(
        'timeout',
        `the program took longer than ${formatDuration(limits.timeoutMs)} (code.timeout)`,
        {
          hint: 'split the work over several programs',
          data,
        },
      );
  }
}

/** The error of a program that threw: that of the call if a call failed, which the journal knows. */
export function toProgramError(
  { name, message, line, call }: ProgramError,
  events: readonly JournalEvent[],
  limits: CodeLimits,
): ToolError {
  const at = line === undefined ? '' : ` (line ${line})`;
  const result = events.find((event) => 'result' in event && event.result === call);
  if (result !== undefined && 'outcome' in result && 'error' in result.outcome) {
    const { code, message: why, hint, data } = result.outcome.error;
    return new ToolError(code, `${why}${at}`, { hint, data });
  }
  if (/^(?:InternalError: )?out of memory$/.test(message)) return exceeded('memory', limits);
  const made = events.filter((event) => 'call' in event).length;
  return new ToolError('tool_failed', `the program failed: ${quoteOutside(`${name}: ${message}`, 400)}${at}`, {
    hint:
      made === 0
        ? 'fix the program'
        : `it made ${count(made, 'call')} before; do not repeat those that changed something`,
    data: line === undefined ? {} : { line },
  });
}
