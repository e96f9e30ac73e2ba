// Finds the way of requests from the settings, and names a proxy of the environment if one fails (NET-1).

import { isToolError, ToolError } from '../core/error.js';
import type { NetSettings } from '../core/settings.js';
import type { World } from '../core/snapshot.js';
import { classifyHost } from './address.js';
import { loadAuthorities } from './authorities.js';
import { type CreateFetch, createGuardedFetch, type Fetch } from './fetch.js';
import { DIRECT, describeUnused, type FindRoute, findUnused, type Route, usesProxy } from './route.js';

/** How requests leave this machine. */
export interface Network {
  /** Creates a fetch for one server. */
  readonly createFetch: CreateFetch;
  /** Returns the way of a request. Throws `unavailable` if the settings cannot be used, `denied` if they are invalid. */
  readonly findRoute: FindRoute;
  /** Returns the settings of the moment as plain data, for another process. */
  readonly resolve: () => Promise<ResolvedNetwork>;
}

/** The settings of a network, with the user and password of its proxy. */
export interface ResolvedNetwork {
  readonly settings: NetSettings;
  readonly auth: string | undefined;
}

export interface NetworkOptions {
  /** A function, because the configuration can change. Throws if it is invalid. */
  readonly settings: () => NetSettings;
  /** Reads the user and password of the proxy by their reference. */
  readonly readAuth: (reference: string) => Promise<string>;
  readonly world: Pick<World, 'env' | 'home'>;
}

export function createRoutes({ settings, readAuth, world }: NetworkOptions): Network {
  const routes = new Map<string, Route>();
  const findRoute: FindRoute = async (url) => {
    const now = settings();
    const proxy = usesProxy(url, now) ? now.proxy : undefined;
    if (now.proxy === undefined && now.ca === undefined) return DIRECT;
    const pair = proxy === undefined || now.proxyAuth === undefined ? undefined : await readAuth(now.proxyAuth);
    const authorization = pair && `Basic ${Buffer.from(pair).toString('base64')}`;
    const authorities = now.ca === undefined ? undefined : loadAuthorities(now.ca, world);
    const isExempt = proxy === undefined && now.proxy !== undefined;
    const key = JSON.stringify([proxy, authorization, isExempt, authorities?.digest]);
    const route: Route = routes.get(key) ?? {
      isExempt,
      ...(proxy === undefined ? {} : { proxy: { url: new URL(proxy), authorization } }),
      ...(authorities && { context: authorities.context, authorities: authorities.certificates }),
    };
    routes.set(key, route);
    return route;
  };
  return {
    findRoute,
    async resolve() {
      const now = settings();
      return { settings: now, auth: now.proxyAuth && (await readAuth(now.proxyAuth)) };
    },
    createFetch(options) {
      const fetch = createGuardedFetch({ ...options, findRoute });
      return (url, init) => fetch(url, init).catch((error: unknown) => explain(error, url));
    },
  };

  function explain(error: unknown, url: Parameters<Fetch>[0]): never {
    const name = findUnused(settings(), world.env);
    const isUnreached = isToolError(error) && UNREACHED.test(String(error.data?.errno ?? ''));
    if (name === undefined || !isUnreached || classifyHost(new URL(url).hostname).class === 'loopback') throw error;
    const { message, hint } = describeUnused(name, world.env);
    const { data, cause } = error;
    throw new ToolError(error.code, error.message, { data, cause, hint: `${message}: ${hint}` });
  }
}

const UNREACHED = /^(?:ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ENETUNREACH)$/;
