// Errors of programs: limits, with the key that sets them, and what ended a program.

import { type ErrorCode, ToolError } from '../../core/error.js';
import type { CodeLimits } from '../../core/settings.js';
import { count, formatBytes, formatDuration, quoteOutside } from '../../core/text.js';
import type { Outcome, ProgramError } from '../protocol.js';
import type { JournalEvent } from './journal.js';

/** The error for a limit that a program exceeded; names the key of the configuration (COD-3). */
export function exceeded(limit: 'calls' | 'cpu' | 'memory' | 'timeout', limits: CodeLimits): ToolError {
  const [code, message, hint] = {
    calls: [
      'too_large',
      `made more than ${count(limits.calls, 'call')}`,
      'use a tool that takes several items at once, or split the work over several programs',
    ],
    memory: [
      'too_large',
      `needs more than ${formatBytes(limits.memoryBytes)} of memory`,
      'keep large results as handles, and read parts of them with query() or page()',
    ],
    cpu: [
      'timeout',
      `used more than ${formatDuration(limits.cpuMs)} of processor time`,
      'let a tool or a query do the work; time in calls does not count',
    ],
    timeout: [
      'timeout',
      `took longer than ${formatDuration(limits.timeoutMs)}`,
      'split the work over several programs',
    ],
  }[limit] as [ErrorCode, string, string];
  return new ToolError(code, `the program ${message} (code.${limit})`, { hint, data: { limit: `code.${limit}` } });
}

/** The error of a program that cannot be compiled (COD-4). */
export function syntaxError(message: string, line: number | undefined): ToolError {
  const at = line === undefined ? '' : ` at line ${line}`;
  return new ToolError('invalid_input', `the program has a syntax error${at}: ${quoteOutside(message, 200)}`, {
    hint: 'a program is the body of an async function, without import and export: return await tools.NAME({ … })',
    data: line === undefined ? {} : { line },
  });
}

const MISSING = 'there are no modules, timers, files, network or globals of Node; tools.$search("words") finds tools';

// A name that other engines define, or a module.
function isMissing(name: string, message: string): boolean {
  return name === 'ReferenceError' && /is not defined|could not load module/.test(message);
}

type FailedCall = Extract<Outcome, { readonly error: unknown }>['error'];

/** Returns the failed call that a program ended with, which the journal knows. */
export function failedCallOf({ call }: ProgramError, events: readonly JournalEvent[]): FailedCall | undefined {
  const result = events.find((event) => 'result' in event && event.result === call);
  return result !== undefined && 'outcome' in result && 'error' in result.outcome ? result.outcome.error : undefined;
}

/** The error of a program that threw: that of the call if a call failed. */
export function toProgramError(error: ProgramError, events: readonly JournalEvent[], limits: CodeLimits): ToolError {
  const { name, message, line } = error;
  const at = line === undefined ? '' : ` (line ${line})`;
  const failed = failedCallOf(error, events);
  if (failed !== undefined) return new ToolError(failed.code, `${failed.message}${at}`, failed);
  // An engine without memory for an error says "[uninitialized]".
  if (/^(?:(?:InternalError: )?out of memory|\[uninitialized\])$/.test(message)) return exceeded('memory', limits);
  if (error.isSyntax === true) return syntaxError(message, line);
  const fix = isMissing(name, message) ? MISSING : 'fix the program';
  const hasCalls = events.some((event) => 'call' in event);
  return new ToolError('tool_failed', `the program failed: ${quoteOutside(`${name}: ${message}`, 400)}${at}`, {
    hint: hasCalls ? `${fix}; do not repeat calls that changed something` : fix,
    data: line === undefined ? {} : { line },
  });
}
