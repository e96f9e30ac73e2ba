// Logins without a person: by the credentials of a client, or by an identity that something else signs (UPS-98).

import { createPrivateKey, type KeyObject } from 'node:crypto';
import { ToolError } from '../../core/error.js';
import type { World } from '../../core/snapshot.js';
import { quoteOutside } from '../../core/text.js';
import type { HttpServer, OAuthSettings } from '../../core/upstream.js';
import { classifyHost } from '../../net/address.js';
import type { AuthorizationServerMetadata, FetchLike, OAuthClientProvider } from '../sdk.js';
import { checkEntry, isSameIssuer, readScope, toLoginFailure } from './fault.js';
import { type StoredLogin, toStored } from './file.js';

export interface GrantRequest {
  /** With references expanded. */
  readonly server: HttpServer;
  /** The response that requires a login, if there was one. */
  readonly refused: Response | undefined;
  /** For the login server. */
  readonly fetch: FetchLike;
  readonly world: Pick<World, 'now'>;
}

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** Requests tokens from the configured login server, and from no other. */
export async function requestByGrant({ server, refused, fetch, world }: GrantRequest): Promise<StoredLogin> {
  const oauth = server.oauth!;
  const issuer = oauth.issuer ?? '';
  if (!isSecure(issuer)) throw fault(server, 'oauth.issuer is not an https:// URL');
  const sdk = await import('../sdk.js');
  try {
    const { described, resource, challenge } = await describeResource(server, refused, fetch);
    const named = described?.authorization_servers ?? [];
    if (named.length > 0 && !named.some((one) => isSameIssuer(one, issuer)))
      throw fault(server, `it names other login servers than oauth.issuer: ${quoteOutside(named.join(', '), 200)}`);
    const metadata = await sdk.discoverAuthorizationServerMetadata(issuer, { fetchFn: fetch });
    if (metadata === undefined) throw fault(server, 'no metadata at oauth.issuer');
    const scope = oauth.scope ?? readScope(challenge.scope);
    const provider = createProvider(server, metadata, sdk.createPrivateKeyJwtAuth);
    const tokens = await sdk.fetchToken(provider, issuer, { metadata, resource, scope, fetchFn: fetch });
    const discovery = { authorizationServerUrl: issuer, authorizationServerMetadata: metadata };
    return toStored({ discovery, resource }, { ...tokens, scope: tokens.scope ?? scope }, server, world.now());
  } catch (thrown) {
    throw toLoginFailure(thrown, server);
  }
}

/** Finds out what a server says about its logins: its metadata, what tokens are for, and what it required. */
export async function describeResource(server: HttpServer, refused: Response | undefined, fetch: FetchLike) {
  const sdk = await import('../sdk.js');
  const challenge = refused === undefined ? {} : sdk.extractWWWAuthenticateParams(refused);
  const { resourceMetadataUrl } = challenge;
  const described = await sdk
    .discoverOAuthProtectedResourceMetadata(server.url, { resourceMetadataUrl }, fetch)
    .catch(() => undefined);
  const resource = (await sdk.selectResourceURL(server.url, {} as OAuthClientProvider, described))?.href;
  return { described, resource, challenge };
}

type CreateAuthentication = typeof import('../sdk.js').createPrivateKeyJwtAuth;

function createProvider(
  server: HttpServer,
  metadata: AuthorizationServerMetadata,
  createAuthentication: CreateAuthentication,
): OAuthClientProvider {
  const { clientId = '', clientSecret, privateKey } = server.oauth!;
  const key = privateKey === undefined ? undefined : readKey(privateKey, server);
  return {
    redirectUrl: undefined,
    clientMetadata: { redirect_uris: [] },
    clientInformation: () => ({ client_id: clientId, client_secret: clientSecret, issuer: metadata.issuer }),
    prepareTokenRequest: (scope) => toParameters(server.oauth!, scope),
    addClientAuthentication:
      key &&
      createAuthentication({
        issuer: clientId,
        subject: clientId,
        audience: metadata.issuer,
        privateKey: key.export({ format: 'jwk' }) as Record<string, unknown>,
        alg: algorithmOf(key, metadata.token_endpoint_auth_signing_alg_values_supported),
      }),
    // Of logins in a browser.
    tokens: () => undefined,
    saveTokens: () => {},
    redirectToAuthorization: () => {},
    saveCodeVerifier: () => {},
    codeVerifier: () => '',
  };
}

function toParameters({ grant, assertion }: OAuthSettings, scope: string | undefined): URLSearchParams {
  return new URLSearchParams({
    ...(grant === 'jwt_bearer' ? { grant_type: JWT_BEARER, assertion: assertion ?? '' } : { grant_type: grant ?? '' }),
    ...(scope === undefined ? {} : { scope }),
  });
}

function readKey(text: string, server: HttpServer): KeyObject {
  try {
    return createPrivateKey(text.trim().startsWith('{') ? { key: JSON.parse(text), format: 'jwk' } : text);
  } catch {
    // Without the cause, which may quote the key.
    throw fault(server, 'oauth.privateKey is not a private key, as PEM or JWK');
  }
}

const CURVES: Readonly<Record<string, string>> = { prime256v1: 'ES256', secp384r1: 'ES384', secp521r1: 'ES512' };

function algorithmOf(key: KeyObject, supported: readonly string[] = []): string {
  if (key.asymmetricKeyType === 'rsa') return supported.includes('RS256') || supported.length === 0 ? 'RS256' : 'PS256';
  return CURVES[key.asymmetricKeyDetails?.namedCurve ?? ''] ?? 'EdDSA';
}

// Metadata that can be changed on its way decides where the secret is sent.
export function isSecure(issuer: string): boolean {
  if (!URL.canParse(issuer)) return false;
  const { protocol, hostname } = new URL(issuer);
  return protocol === 'https:' || (protocol === 'http:' && classifyHost(hostname).class === 'loopback');
}

export function fault(server: HttpServer, what: string): ToolError {
  return new ToolError('unavailable', `cannot log in to ${quoteOutside(server.name, 60)}: ${what}`, {
    hint: checkEntry(server),
    data: { server: server.name },
  });
}
