// Finds out who is at a browser, by a login at the identity provider of the users of this server (IDN-26).

import { ToolError } from '../../core/error.js';
import type { IssuerSettings } from '../../core/settings.js';
import type { CreateFetch } from '../../net/fetch.js';
import { createIdTokenVerifier } from '../../net/tokens.js';
import type { OAuthClientInformationMixed } from '../sdk.js';
import { createSecret } from './links.js';
import { assertShowable, toClientMetadata } from './steps.js';

/** A login at an identity provider that has begun. */
export interface StartedIdentification {
  /** The login page of the provider. */
  readonly page: URL;
  /** Returns the name of the user who logged in. */
  finish(answer: URLSearchParams): Promise<string>;
}

export interface IdentifyOptions {
  /** The identity providers, as they are configured now. */
  readonly issuers: () => readonly IssuerSettings[];
  readonly createFetch: CreateFetch;
  readonly debug: (message: string) => void;
}

/** Begins a login at a provider; undefined if it knows no client for this server, and registers none. */
export type Identify = (
  issuer: string | undefined,
  way: { readonly redirectUrl: string; readonly state: string },
) => Promise<StartedIdentification | undefined>;

const LIMITS = { timeoutMs: 10_000, maxBytes: 256 * 1024 };

export function createIdentify({ issuers, createFetch, debug }: IdentifyOptions): Identify {
  // Clients that were registered here, by issuer and redirect URL.
  const clients = new Map<string, OAuthClientInformationMixed>();
  return async (issuer, { redirectUrl, state }) => {
    const settings = issuers().find((one) => one.issuer === issuer);
    if (settings === undefined) return undefined;
    const sdk = await import('../sdk.js');
    const fetchFn = createFetch({ url: settings.issuer, anyOrigin: true, allowPrivate: true, ...LIMITS });
    const metadata = await sdk.discoverAuthorizationServerMetadata(settings.issuer, { fetchFn });
    if (metadata === undefined) throw unreadable(settings);
    const key = `${settings.issuer} ${redirectUrl}`;
    let client = settings.clientId === undefined ? clients.get(key) : { client_id: settings.clientId };
    if (client === undefined) {
      if (metadata.registration_endpoint === undefined) return undefined;
      const clientMetadata = toClientMetadata(redirectUrl);
      client = await sdk.registerClient(settings.issuer, { metadata, clientMetadata, fetchFn });
      clients.set(key, client);
    }
    const clientInformation = client;
    const nonce = createSecret();
    const begun = { metadata, clientInformation, redirectUrl, scope: 'openid', state };
    const { authorizationUrl, codeVerifier } = await sdk.startAuthorization(settings.issuer, begun);
    authorizationUrl.searchParams.set('nonce', nonce);
    // Another person may be logged in there already.
    authorizationUrl.searchParams.set('prompt', 'login');
    return {
      page: assertShowable(authorizationUrl, settings.issuer),
      async finish(answer) {
        const tokens = await sdk.exchangeAuthorization(settings.issuer, {
          metadata,
          clientInformation,
          authorizationCode: answer.get('code') ?? '',
          iss: answer.get('iss') ?? undefined,
          codeVerifier,
          redirectUri: redirectUrl,
          fetchFn,
        });
        const verify = createIdTokenVerifier(settings, { createFetch, debug });
        const user = await verify(String(tokens.id_token), { clientId: clientInformation.client_id, nonce });
        if (user === undefined) throw unreadable(settings);
        return user;
      },
    };
  };
}

function unreadable({ issuer }: IssuerSettings): ToolError {
  return new ToolError('unavailable', `${issuer} did not say who logged in`, {
    hint: 'try again; if it persists, tell the operator of this server',
  });
}
