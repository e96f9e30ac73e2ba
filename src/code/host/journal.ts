// The journal of a program: everything that came from outside, in order. The same journal gives the same program.

import { ToolError } from '../../core/error.js';
import { canonicalJson } from '../../core/json.js';
import { quoteOutside } from '../../core/text.js';
import type { EngineCall, Outcome } from '../protocol.js';

/** A call that the program made, that its tool began to run, and what was delivered to the program, and when. */
export type JournalEvent =
  | { readonly call: EngineCall }
  | { readonly started: number }
  | { readonly result: number; readonly now: number; readonly outcome: Outcome };

/** The error for a program that does not do again what its journal says. */
export function diverged(recorded: EngineCall | undefined, made: EngineCall | undefined): ToolError {
  const describe = (call: EngineCall | undefined): string =>
    call === undefined ? 'no call' : `${quoteOutside(call.name, 80)}(${quoteOutside(canonicalJson(call.input), 100)})`;
  const at = (recorded ?? made)!.id;
  return new ToolError(
    'conflict',
    `the program diverged from its journal at call ${at}: it made ${describe(made)} instead of ${describe(recorded)}`,
    {
      hint: 'wield was upgraded since the program was suspended; see which calls ran, and write a program for the rest',
      data: { divergence: at },
    },
  );
}

export function sameCall(a: EngineCall, b: EngineCall): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

/** What a program is told about a call that had begun when its process ended: it may have run, so it is not repeated. */
export function unknownOutcome({ name }: EngineCall): Outcome {
  return {
    error: {
      code: 'exec_failed',
      message: `${name} may have run: wield ended during the call`,
      hint: 'check what it did before you call it again',
      tool: name,
    },
  };
}
