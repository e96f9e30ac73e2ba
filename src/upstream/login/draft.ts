// What a login brings together step by step, and how the protocol's client reads and writes it.

import type {
  OAuthClientInformationMixed,
  OAuthClientProvider,
  OAuthDiscoveryState,
} from '@modelcontextprotocol/client';
import type { HttpServer } from '../../core/upstream.js';
import { readLogin, resourceOf, type StoredLogin, type Tokens } from './file.js';
import { endOf } from './oauth.js';

/** What a login has brought together so far; nothing of it is kept before it is complete. */
export interface Draft {
  client?: OAuthClientInformationMixed;
  verifier?: string;
  discovery?: OAuthDiscoveryState;
  resource?: string;
  tokens?: Tokens;
  authorizationUrl?: URL;
}

export interface ProviderOptions {
  readonly server: HttpServer;
  readonly directory: string;
  readonly redirectUrl: string;
  readonly state: string;
}

/** The provider of one login: all that it is told goes into the draft. */
export function createProvider(draft: Draft, options: ProviderOptions): OAuthClientProvider {
  const { server, directory, redirectUrl, state } = options;
  const { oauth } = server;
  const known = oauth === undefined ? undefined : toClient(oauth, readKnown(server, directory));
  return {
    redirectUrl,
    clientMetadata: {
      client_name: 'wield',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    state: () => state,
    clientInformation: () => known ?? draft.client,
    // A client registers anew for each login: what was registered before had another port to come back to.
    ...(known === undefined
      ? {
          saveClientInformation: (client) => {
            draft.client = client;
          },
        }
      : {}),
    tokens: () => undefined,
    saveTokens: () => {},
    redirectToAuthorization: (url) => {
      draft.authorizationUrl = url;
    },
    saveCodeVerifier: (verifier) => {
      draft.verifier = verifier;
    },
    codeVerifier: () => draft.verifier ?? '',
    saveDiscoveryState: (discovery) => {
      draft.discovery = discovery;
    },
    discoveryState: () => draft.discovery,
    saveResourceUrl: (resource) => {
      draft.resource = resource;
    },
  };
}

// Bound to who took it the first time: a server that names another login server does not get the client's secret.
function toClient(
  oauth: NonNullable<HttpServer['oauth']>,
  before: StoredLogin | undefined,
): OAuthClientInformationMixed & { issuer?: string } {
  return {
    client_id: oauth.clientId,
    ...(oauth.clientSecret === undefined ? {} : { client_secret: oauth.clientSecret }),
    ...(before?.client.id === oauth.clientId ? { issuer: before.issuer } : {}),
  };
}

function readKnown(server: HttpServer, directory: string): StoredLogin | undefined {
  try {
    return readLogin(directory, server);
  } catch {
    // It is about to be replaced.
    return undefined;
  }
}

/** A draft that is complete, as it is kept. */
export function toStored(draft: Draft, server: HttpServer, now: number): StoredLogin {
  const { discovery, tokens, client } = draft;
  const metadata = discovery?.authorizationServerMetadata;
  const issuer = metadata?.issuer ?? discovery?.authorizationServerUrl;
  if (tokens === undefined || issuer === undefined) throw new Error('incomplete');
  return {
    version: 1,
    server: server.name,
    url: resourceOf(server),
    issuer,
    tokenEndpoint: metadata?.token_endpoint ?? new URL('/token', issuer).href,
    authMethods: metadata?.token_endpoint_auth_methods_supported ?? null,
    revocationEndpoint: findRevocation(metadata),
    resource: draft.resource ?? null,
    client: { id: server.oauth?.clientId ?? client?.client_id ?? '', secret: client?.client_secret ?? null },
    tokens: {
      access_token: tokens.access_token,
      refresh_token: tokens.refresh_token,
      scope: tokens.scope,
      expires_in: tokens.expires_in,
    },
    expiresAt: endOf(tokens, now),
  };
}

// Metadata of OpenID has it too, as a key that its type does not name.
function findRevocation(metadata: object | undefined): string | null {
  const { revocation_endpoint: endpoint } = { ...metadata } as { revocation_endpoint?: unknown };
  return typeof endpoint === 'string' ? endpoint : null;
}
