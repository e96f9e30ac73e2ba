// How requests leave this machine: directly or through a proxy, and whose certificates are accepted (NET-1).

import type { Fetch } from './fetch.js';
import type { Network, NetworkOptions } from './routes.js';

export type { Network } from './routes.js';

/** What sends requests is loaded by the first one. */
export function createNetwork(options: NetworkOptions): Network {
  let loading: Promise<Network> | undefined;
  const load = (): Promise<Network> => {
    loading ??= import('./routes.js').then(({ createRoutes }) => createRoutes(options));
    return loading;
  };
  return {
    findRoute: async (url) => (await load()).findRoute(url),
    createFetch(of) {
      let fetch: Promise<Fetch> | undefined;
      return async (url, init) => {
        fetch ??= load().then(({ createFetch }) => createFetch(of));
        return (await fetch)(url, init);
      };
    },
  };
}
