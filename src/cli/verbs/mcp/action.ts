// An action of `wield mcp`: what it takes beside its name, and what it does.

import type { FlagHelp, VerbCall } from '../../verb.js';

/** Which of the two files that are ours to write. */
export const SCOPE: FlagHelp = {
  kind: 'value',
  value: 'SCOPE',
  description: 'user: ~/.agents/mcp.json, which is the default; project: .agents/mcp.json of this directory',
};

export interface McpAction {
  /** What stands behind `wield mcp`. */
  readonly usage: string;
  readonly example: string;
  readonly flags: Readonly<Record<string, FlagHelp>>;
  /** How many words it takes behind its name at most. */
  readonly positionals: number;
  /** Does the work with what follows the action's name, and gives the exit status. */
  run(call: VerbCall, positionals: readonly string[]): Promise<number>;
}
