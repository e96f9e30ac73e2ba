// How requests leave this machine: directly or through a proxy, and whose certificates are accepted (NET-1).

import type { Fetch } from './fetch.js';
import type { Network, NetworkOptions, ResolvedNetwork } from './routes.js';

export type { Network, ResolvedNetwork } from './routes.js';

/** What sends requests is loaded by the first one. */
export function createNetwork(options: NetworkOptions): Network {
  let loading: Promise<Network> | undefined;
  const load = (): Promise<Network> => {
    loading ??= import('./routes.js').then(({ createRoutes }) => createRoutes(options));
    return loading;
  };
  return {
    findRoute: async (url) => (await load()).findRoute(url),
    resolve: async () => (await load()).resolve(),
    createFetch(of) {
      let fetch: Promise<Fetch> | undefined;
      return async (url, init) => {
        fetch ??= load().then(({ createFetch }) => createFetch(of));
        return (await fetch)(url, init);
      };
    },
  };
}

/** Creates the network of another process from its settings. */
export function fromResolved({ settings, auth }: ResolvedNetwork, world: NetworkOptions['world']): Network {
  return createNetwork({ settings: () => settings, readAuth: async () => auth!, world });
}
