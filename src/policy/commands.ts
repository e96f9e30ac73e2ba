// The allowlist of declared commands: only listed pairs of binary and subcommand run.

import type { Allowlist } from '../core/command.js';
import { ToolError } from '../core/error.js';
import { quoteOutside } from '../core/text.js';

/** Throws `not_allowlisted` unless the pair is listed (TJS-15). */
export function assertAllowlisted(allowlist: Allowlist, binary: string, subcommand: string): void {
  const listed = Object.hasOwn(allowlist, binary) ? allowlist[binary]! : [];
  if (listed.includes(subcommand)) return;
  const named = `${quoteOutside(binary, 60)} ${quoteOutside(subcommand, 60)}`.trim();
  throw new ToolError('not_allowlisted', `"${named}" is not in the allowlist`, {
    hint:
      listed.length > 0
        ? `allowed subcommands: ${listed.join(', ')}`
        : `the allowlist has no entry for ${quoteOutside(binary, 60)}`,
    data: { binary, subcommand },
  });
}
