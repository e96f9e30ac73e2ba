// The hash of a server's configuration: everything that decides what is started or called.

import { canonicalJson } from '../../core/json.js';
import type { ServerEntry } from '../../core/upstream.js';
import { digestParts } from '../../files/digest.js';

/** Returns a function that hashes entries, with references as written, so that no secret is in the hash. */
export function createConfigurationHash(workdir: string): (server: ServerEntry) => string {
  const hashes = new WeakMap<ServerEntry, string>();
  return (server) => {
    let hash = hashes.get(server);
    if (hash === undefined) {
      const { place, owner, allow: _, deny: __, timeoutMs: ___, startTimeoutMs: ____, ...rest } = server;
      // A server of a workspace is a different one in another directory.
      const where = owner === 'workspace' ? workdir : '';
      hash = digestParts([owner, where, canonicalJson(rest)]).slice(0, 32);
      hashes.set(server, hash);
    }
    return hash;
  };
}
