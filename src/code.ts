// Public entry `wield/code`: runs programs that call the tools of a toolbox.

import { isRecord } from './core/json.js';
import type { ToolResult } from './core/result.js';
import type { CodeLimits } from './core/settings.js';
import { integer, object, optional, strings } from './core/shape.js';
import type { CallOptions, DoorOptions, Toolbox } from './core/toolbox.js';
import { RUN_CODE } from './core/view.js';
import { findFault } from './runtime/call-options.js';

export type { ToolResult } from './core/result.js';

/** Options of `runCode`. */
export interface RunCodeOptions extends CallOptions {
  /** Further built-in tools that the program may call, by name or group. */
  readonly offer?: readonly string[];
  /** The id of a suspended program, which goes on; the code is then not used. */
  readonly resume?: string;
  /** Limits of this run, instead of those of the toolbox (COD-3). */
  readonly limits?: Partial<CodeLimits>;
}

const count = optional(integer(1, 'a whole number above 0'));
const milliseconds = optional(integer(1, 'a whole number of milliseconds above 0'));

const OPTIONS = object({
  offer: optional(strings),
  limits: optional(
    object({
      calls: count,
      parallel: count,
      cpuMs: milliseconds,
      memoryBytes: optional(integer(1, 'a whole number of bytes above 0')),
      timeoutMs: milliseconds,
    } satisfies Record<keyof CodeLimits, unknown>),
  ),
});

/**
 * Runs a program, which calls tools as the same caller, under the same rules (COD-1). Never throws: the value that the
 * program returns is `structured.value`, and a suspended program is the error `needs_approval` with `data.resume`.
 */
export function runCode(toolbox: Toolbox, code: string, options: RunCodeOptions = {}): Promise<ToolResult> {
  // A program in JavaScript may pass anything, which the call refuses.
  const isObject: boolean = isRecord(options);
  if (!isObject) return toolbox.call(RUN_CODE, { code }, options);
  const { resume, limits, offer = [], full = options.caller?.kind !== 'model', ...more } = options;
  const input = resume === undefined ? { code } : { resume };
  const fault = findFault(OPTIONS, { limits, offer }, 'the options of runCode');
  if (fault !== undefined) return toolbox.call(RUN_CODE, input, { ...more, fault } as DoorOptions);
  const call: DoorOptions = { ...more, full, codeLimits: limits, offer: [...offer, RUN_CODE] };
  return toolbox.call(RUN_CODE, input, call);
}
