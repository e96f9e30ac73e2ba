// Shared by the actions of `wield mcp`: their definition, and finding and describing servers.

import { findJsonLine } from '../../../clients/forms/json.js';
import { orNothing, ToolError } from '../../../core/error.js';
import { unescapePointer } from '../../../core/json.js';
import { nearest, quoteOutside, spellOut } from '../../../core/text.js';
import { type HttpServer, mayStart, type ServerEntry } from '../../../core/upstream.js';
import { readTextFile } from '../../../files/read.js';
import type { NodeToolbox } from '../../../node.js';
import { needsTrust } from '../../../upstream/catalog/format.js';
import { blocked } from '../../../upstream/entries/allowed.js';
import { SCOPES } from '../../clients.js';
import { shortPath } from '../../print.js';
import { type FlagHelp, option, required, usageError, type VerbCall } from '../../verb.js';

/** Selects one of the two files that wield writes. */
export const SCOPE: FlagHelp = option(
  'SCOPE',
  'user (default): ~/.agents/mcp.json; project: .agents/mcp.json of this directory',
  { choices: SCOPES },
);

export const STRAY_FLAG =
  'put the command of a server after --: wield mcp add NAME -- COMMAND …; wield mcp --help shows all flags';

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

const SHOWN_NAMES = 3;

export type ServerState = ReturnType<NodeToolbox['state']['upstreams']['states']>[number];

/** Finds a server with its state by name. Throws `not_found`. */
export function findState({ state: { upstreams } }: NodeToolbox, name: string): ServerState {
  const states = upstreams.states();
  const found = states.find(({ server }) => server.name === name);
  if (found !== undefined) return found;
  const [close] = nearest(
    name,
    states.map(({ server }) => server.name),
  );
  throw new ToolError('not_found', `unknown server "${quoteOutside(name, 60)}"`, {
    hint:
      close === undefined
        ? 'wield mcp shows the servers'
        : `did you mean ${quoteOutside(close, 60)}? wield mcp shows all`,
  });
}

/** Finds a server that may be started. Throws `unavailable` or `needs_trust`. */
export function findUsable(toolbox: NodeToolbox, name: string): ServerState {
  const found = findState(toolbox, name);
  const { server, state, block } = found;
  if (block !== undefined) throw blocked(server, block);
  if (state === 'off') {
    throw new ToolError('unavailable', `the server ${spellOut(name)} is disabled`, {
      hint: `remove "disabled" from its entry (${describePlace(server, toolbox)}), or its name from mcp.disabled`,
    });
  }
  if (!mayStart(server, toolbox.workspace)) throw needsTrust(server);
  return found;
}

/** Returns the server that an action names. Throws `usage` without one. */
export function requireName(name: string | undefined, action: string): string {
  return required(name, `server name; usage: wield mcp ${action} NAME`, 'wield mcp shows the servers');
}

/** Finds an HTTP server and expands the references in its entry. Throws `usage` for a process. */
export async function findAddressed(
  toolbox: NodeToolbox,
  named: string | undefined,
  action: 'login' | 'logout',
): Promise<HttpServer> {
  const name = requireName(named, action);
  const { server } = findUsable(toolbox, name);
  if (server.kind !== 'http') {
    throw usageError(
      `${spellOut(name)} is a local process and has no login`,
      'pass credentials in env of its entry, as a reference',
    );
  }
  const { expandWithSecrets } = await import('../../../upstream/entries/expand.js');
  const {
    machine: { world },
    workspace: { workdir },
  } = toolbox;
  // Trust was checked above.
  const resolved = (await expandWithSecrets(server, { world, workdir })).server as HttpServer;
  toolbox.state.upstreams.assertAllowed(server, { resolved });
  return resolved;
}

/** Lists the first names and counts the rest. */
export function someOf(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN_NAMES).map(spellOut).join(', ');
  return names.length > SHOWN_NAMES ? `${shown} and ${names.length - SHOWN_NAMES} more` : shown;
}

/** Returns the line of a server's entry in its file, or null if unknown. */
export function findLine({ place }: ServerEntry): number | null {
  if (place.line !== null || place.pointer === null) return place.line;
  const steps = place.pointer.split('/').slice(1);
  return orNothing(() => findJsonLine(readTextFile(place.file) ?? '', steps.map(unescapePointer))) ?? null;
}

/** Formats where a server is configured: `.mcp.json:4`. */
export function describePlace(server: ServerEntry, toolbox: NodeToolbox): string {
  const line = findLine(server);
  const file = spellOut(shortPath(server.place.file, toolbox));
  return line === null ? file : `${file}:${line}`;
}
