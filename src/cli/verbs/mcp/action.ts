// The definition of an action of `wield mcp`.

import { type FlagHelp, option, type VerbCall } from '../../verb.js';

/** Selects one of the two files that wield writes. */
export const SCOPE: FlagHelp = option(
  'SCOPE',
  'user (default): ~/.agents/mcp.json; project: .agents/mcp.json of this directory',
);

export interface McpAction {
  /** The usage after `wield mcp`. */
  readonly usage: string;
  readonly example: string;
  readonly flags: Readonly<Record<string, FlagHelp>>;
  /** The maximum number of positionals after its name. */
  readonly positionals: number;
  /** Returns the exit status. */
  run(call: VerbCall, positionals: readonly string[]): Promise<number>;
}
