// Creates the transport to a server: a child process, or Streamable HTTP.

import type { ResolvedServer } from '../../core/upstream.js';
import type { World } from '../../core/world.js';
import { baseEnvironment } from '../../process/environment.js';
import { createGuardedFetch } from '../http/fetch.js';
import { createOAuthProvider } from '../login/oauth.js';
import { ProcessTransport } from './process-transport.js';
import type { UpstreamTransport } from './transport.js';

export interface OpenTransportOptions {
  readonly world: World;
  /** Names of variables that every process inherits. */
  readonly pass: readonly string[];
  /** The directory of stored logins. */
  readonly logins: string;
  readonly beforeRun?: () => void;
}

/** Returns a transport that is not started. */
export async function openTransport(
  server: ResolvedServer,
  { world, pass, logins, beforeRun }: OpenTransportOptions,
): Promise<UpstreamTransport> {
  if (server.kind === 'stdio') {
    beforeRun?.();
    const environment = { ...baseEnvironment(world, pass), ...server.env };
    const argv = [server.command, ...server.args];
    return new ProcessTransport({ argv, cwd: server.cwd, environment }, world);
  }
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  return new StreamableHTTPClientTransport(new URL(server.url), {
    fetch: createGuardedFetch({ url: server.url, headers: server.headers }),
    authProvider: createOAuthProvider({ server, directory: logins, world }),
  });
}
