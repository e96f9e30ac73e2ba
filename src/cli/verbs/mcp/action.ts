// An action of `wield mcp`: what it takes beside its name, and what it does.

import type { FlagHelp, VerbCall } from '../../verb.js';

export interface McpAction {
  /** What stands behind `wield mcp`. */
  readonly usage: string;
  readonly example: string;
  readonly flags: Readonly<Record<string, FlagHelp>>;
  /** Does the work with what follows the action's name, and gives the exit status. */
  run(call: VerbCall, positionals: readonly string[]): Promise<number>;
}
