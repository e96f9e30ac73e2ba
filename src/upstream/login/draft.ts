// The state of a login in progress, and the SDK's access to it.

import type { HttpServer } from '../../core/upstream.js';
import type { OAuthClientInformationMixed, OAuthClientProvider, OAuthDiscoveryState } from '../sdk.js';
import { endOf, readLogin, resourceOf, type StoredLogin, type Tokens } from './file.js';

/** The results of a login so far; stored when it is complete. */
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

/** Creates the OAuth provider of one login, which writes to the draft. */
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
    // Each login registers a new client, because the port of the redirect differs.
    saveClientInformation:
      known === undefined
        ? (client) => {
            draft.client = client;
          }
        : undefined,
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

// Bound to the configured issuer, or that of the first login, so that another login server does not receive the client secret.
function toClient(
  oauth: NonNullable<HttpServer['oauth']>,
  before: StoredLogin | undefined,
): OAuthClientInformationMixed & { issuer?: string } {
  return {
    client_id: oauth.clientId,
    client_secret: oauth.clientSecret,
    issuer: oauth.issuer ?? (before?.client.id === oauth.clientId ? before.issuer : undefined),
  };
}

function readKnown(server: HttpServer, directory: string): StoredLogin | undefined {
  try {
    return readLogin(directory, server);
  } catch {
    // It will be replaced.
    return undefined;
  }
}

/** Converts a complete draft to the stored form. */
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
      // RFC 6749, 5.1: without a scope in the response, the requested one was granted.
      scope: tokens.scope ?? draft.authorizationUrl?.searchParams.get('scope') ?? undefined,
      expires_in: tokens.expires_in,
    },
    expiresAt: endOf(tokens, now),
  };
}

// OpenID metadata has it too, but not in its type.
function findRevocation(metadata: object | undefined): string | null {
  const { revocation_endpoint: endpoint } = { ...metadata } as { revocation_endpoint?: unknown };
  return typeof endpoint === 'string' ? endpoint : null;
}
