// Opens the wire to a server: a process of ours, or an address.

import type { ResolvedServer } from '../../core/upstream.js';
import type { World } from '../../core/world.js';
import { baseEnvironment } from '../../process/environment.js';
import { createGuardedFetch } from '../http/fetch.js';
import { createOAuthProvider } from '../login/oauth.js';
import type { Wire } from './connection.js';
import { ProcessTransport } from './process-transport.js';

export interface WireOptions {
  readonly world: World;
  /** Variables that the configuration passes on to every process. */
  readonly pass: readonly string[];
  /** Where logins are kept. */
  readonly logins: string;
  readonly beforeRun?: () => void;
}

export async function openWire(server: ResolvedServer, options: WireOptions): Promise<Wire> {
  const { world } = options;
  if (server.kind === 'stdio') {
    options.beforeRun?.();
    const environment = { ...baseEnvironment(world, options.pass), ...server.env };
    const argv = [server.command, ...server.args];
    return new ProcessTransport({ argv, cwd: server.cwd, environment }, world);
  }
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  return new StreamableHTTPClientTransport(new URL(server.url), {
    fetch: createGuardedFetch({ url: server.url, headers: server.headers }),
    authProvider: createOAuthProvider({ server, directory: options.logins, world }),
  });
}
