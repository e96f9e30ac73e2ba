// What the actions of `wield mcp` share: a server by its name, how it stands, and where it is configured.

import { findJsonLine } from '../../../clients/forms/json.js';
import { ToolError } from '../../../core/error.js';
import { nearest, quoteOutside, shortenPath, spellOut } from '../../../core/text.js';
import type { HttpServer, ServerEntry } from '../../../core/upstream.js';
import { readTextFile } from '../../../files/read.js';
import type { NodeToolbox } from '../../../node.js';

const SHOWN_NAMES = 3;

export type ServerState = ReturnType<NodeToolbox['state']['upstreams']['states']>[number];

/** How the server of a name stands. Throws where there is none. */
export function findState({ state: { upstreams } }: NodeToolbox, name: string): ServerState {
  const states = upstreams.states();
  const found = states.find(({ server }) => server.name === name);
  if (found !== undefined) return found;
  const [close] = nearest(
    name,
    states.map(({ server }) => server.name),
  );
  throw new ToolError('not_found', `there is no server "${quoteOutside(name, 60)}"`, {
    hint:
      close === undefined
        ? 'wield mcp shows those there are'
        : `did you mean ${quoteOutside(close, 60)}? wield mcp shows all`,
  });
}

/** The server of a name that may be started now. Throws why it may not. */
export function findUsable(toolbox: NodeToolbox, name: string): ServerState {
  const found = findState(toolbox, name);
  const { server, state } = found;
  if (state === 'off') {
    throw new ToolError('unavailable', `the server ${spellOut(name)} is switched off`, {
      hint: `take "disabled" out of its entry (${describePlace(server, toolbox)}), or its name out of mcp.disabled`,
    });
  }
  if (server.owner === 'workspace' && !toolbox.workspace.trusted) {
    throw new ToolError(
      'needs_trust',
      `the server ${spellOut(name)} is not started: the workspace is not trusted`,
      {
        hint: 'wield mcp shows what it runs; then: wield trust',
      },
    );
  }
  return found;
}

/** A server with an address that can be logged in to, its references replaced. */
export async function findAddressed(
  toolbox: NodeToolbox,
  name: string | undefined,
  action: 'login' | 'logout',
): Promise<HttpServer> {
  if (name === undefined)
    throw new ToolError('usage', 'no server named', {
      hint: `wield mcp ${action} NAME; wield mcp shows them`,
    });
  const { server } = findUsable(toolbox, name);
  if (server.kind !== 'http') {
    throw new ToolError('usage', `${spellOut(name)} is a process of this machine: there is no login to it`, {
      hint: 'what it needs to know stands in env of its entry, as a reference',
    });
  }
  const { expandServer } = await import('../../../upstream/entries/expand.js');
  const {
    machine: { world },
    workspace: { workdir },
  } = toolbox;
  // Whether a workspace has a say was asked above.
  return expandServer(server, { ...world, workdir, trusted: true }).server as HttpServer;
}

/** Some names in a line, the rest counted. */
export function someOf(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN_NAMES).map(spellOut).join(', ');
  return names.length > SHOWN_NAMES ? `${shown} and ${names.length - SHOWN_NAMES} more` : shown;
}

/** The line of a server's file that names it; null where that cannot be told. */
export function findLine({ place }: ServerEntry): number | null {
  if (place.line !== null || place.pointer === null) return place.line;
  const steps = place.pointer.split('/').slice(1);
  try {
    return findJsonLine(readTextFile(place.file) ?? '', steps.map(unescapeStep));
  } catch {
    return null;
  }
}

/** `.mcp.json:4`, as a person would look it up. */
export function describePlace(
  server: ServerEntry,
  { workspace: { workdir }, machine: { world } }: NodeToolbox,
): string {
  const line = findLine(server);
  const file = spellOut(shortenPath(server.place.file, workdir, world.home));
  return line === null ? file : `${file}:${line}`;
}

function unescapeStep(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}
