// Routes of upstream servers: their state, restarting one, and logging in to one.

import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { mayStart } from '../../core/upstream.js';
import type { ServerState } from '../../upstream/catalog/format.js';
import { describeServer } from '../../upstream/entries/mask.js';
import type { ServerItem } from '../api.js';
import { outdated, type PageParts } from './parts.js';
import type { Handlers } from './route.js';

export function createServerRoutes(parts: PageParts) {
  const { toolbox, login } = parts;
  const { upstreams } = toolbox.state;
  const find = (name: string): ServerState => {
    const found = upstreams.states().find(({ server }) => server.name === name);
    if (found !== undefined) return found;
    throw outdated('not_found', `unknown server ${quoteOutside(name, 60)}`);
  };
  return {
    'GET /api/servers': async () => ({
      servers: await Promise.all(upstreams.states().map((state) => toServerItem(parts, state))),
    }),
    'POST /api/servers/:name/restart': async ({ params }) => {
      const { server, state } = find(params.name!);
      upstreams.assertAllowed(server);
      if (state === 'off' || !mayStart(server, toolbox.workspace)) throw mayNotStart(server.name, state);
      await upstreams.refresh(server, 'restart');
      return { server: await toServerItem(parts, find(server.name)) };
    },
    'POST /api/servers/:name/login': async ({ params, signal }) => {
      const { server } = find(params.name!);
      upstreams.assertAllowed(server);
      await login(server.name, signal);
      await upstreams.refresh(server);
      return { server: await toServerItem(parts, find(server.name)) };
    },
  } satisfies Partial<Handlers>;
}

async function toServerItem({ toolbox }: PageParts, found: ServerState): Promise<ServerItem> {
  const { server, state, tools, changed, listedAt, failure } = found;
  const connection = await toolbox.state.upstreams.connection(server);
  const iso = (time: number): string => new Date(time).toISOString();
  return {
    name: server.name,
    kind: server.kind,
    target: describeServer(server),
    owner: server.owner,
    position: { file: server.position.file, line: server.position.line },
    state,
    connected: connection?.isOpen === true,
    protocol: connection?.protocol ?? null,
    tools: tools.length,
    changed,
    failure: failure === undefined ? null : { message: failure.message, hint: failure.hint, at: iso(failure.at) },
    listedAt: listedAt === undefined ? null : iso(listedAt),
    stderr: connection?.lastLines ?? [],
    login: server.kind === 'http' ? 'possible' : 'none',
  };
}

function mayNotStart(name: string, state: ServerState['state']): ToolError {
  const disabled = state === 'off';
  return new ToolError(disabled ? 'unavailable' : 'needs_trust', `the server ${name} may not be started`, {
    hint: disabled ? 'it is disabled in its configuration' : 'trust its workspace, or accept it: wield mcp accept',
  });
}
