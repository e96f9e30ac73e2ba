// Logins without a person: by credentials or a signed identity (UPS-98), or by the exchanged token of the caller (IDN-27).

import { createPrivateKey, type KeyObject } from 'node:crypto';
import { ToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import type { World } from '../../core/snapshot.js';
import { quoteOutside } from '../../core/text.js';
import type { ExchangeSettings, HttpServer, OAuthSettings } from '../../core/upstream.js';
import { classifyHost } from '../../net/address.js';
import type { CreateFetch, Fetch } from '../../net/fetch.js';
import { addressOf, readMetadata } from '../../net/metadata.js';
import type { AuthorizationServerMetadata, FetchLike, OAuthClientProvider } from '../sdk.js';
import { checkEntry, isSameIssuer, readScope, toLoginFailure } from './fault.js';
import { type StoredLogin, type Tokens, toStored } from './file.js';
import type { LoginUser } from './user.js';

interface GrantRequest {
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

// Finds out what a server says about its logins: its metadata, what tokens are for, and what it required.
async function describeResource(server: HttpServer, refused: Response | undefined, fetch: FetchLike) {
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
function isSecure(issuer: string): boolean {
  if (!URL.canParse(issuer)) return false;
  const { protocol, hostname } = new URL(issuer);
  return protocol === 'https:' || (protocol === 'http:' && classifyHost(hostname).class === 'loopback');
}

function fault(server: HttpServer, what: string): ToolError {
  return new ToolError('unavailable', `cannot log in to ${quoteOutside(server.name, 60)}: ${what}`, {
    hint: checkEntry(server),
    data: { server: server.name },
  });
}

interface ExchangeRequest extends GrantRequest {
  /** For the identity provider. */
  readonly createFetch: CreateFetch;
  /** Whose token is exchanged. */
  readonly user?: LoginUser | undefined;
  /** Returns the verified token of a user. */
  readonly subjectToken?: ((user: LoginUser) => string | undefined) | undefined;
}

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:';
const LIMITS = { timeoutMs: 30_000, maxBytes: 64 * 1024 };

/** Requests tokens of a server for a user. */
export async function requestByExchange(request: ExchangeRequest): Promise<StoredLogin> {
  const { server, refused, fetch, createFetch, world, user } = request;
  const { grant, issuer = '', scope: wanted, idp } = server.oauth!;
  const subject = findSubject(request);
  try {
    const { described, resource, challenge } = await describeResource(server, refused, fetch);
    const scope = wanted ?? readScope(challenge.scope);
    const audience = grant === 'id_jag' ? issuer : undefined;
    const exchange = { idp: idp!, subject, resource, scope, audience };
    const { tokens, endpoint } = await exchangeToken(exchange, server, createFetch);
    if (grant === 'id_jag') {
      const oauth = { ...server.oauth!, grant: 'jwt_bearer' as const, assertion: tokens.access_token };
      const login = await requestByGrant({ server: { ...server, oauth }, refused, fetch, world });
      return { ...login, user };
    }
    const named = described?.authorization_servers ?? [];
    if (named.length > 0 && !named.some((one) => isSameIssuer(one, idp!.issuer)))
      throw fault(server, 'it does not name the identity provider as its login server');
    const metadata = { issuer: idp!.issuer, token_endpoint: endpoint } as AuthorizationServerMetadata;
    const discovery = { authorizationServerUrl: idp!.issuer, authorizationServerMetadata: metadata };
    const client = { client_id: idp!.clientId };
    return { ...toStored({ discovery, resource, client }, tokens, server, world.now()), user };
  } catch (thrown) {
    throw toLoginFailure(thrown, server);
  }
}

// The token of a user is sent to the issuer that it is from, and only if the person of this machine wrote the entry.
function findSubject({ server, user, subjectToken }: ExchangeRequest): string {
  const { issuer } = server.oauth!.idp!;
  if (server.owner !== 'user') throw fault(server, 'tokens of users are exchanged for entries of your own files only');
  if (!isSecure(issuer)) throw fault(server, 'oauth.idp.issuer is not an https:// URL');
  const subject = user?.issuer === issuer ? subjectToken?.(user) : undefined;
  if (subject === undefined) throw fault(server, `the caller has no token of ${issuer}`);
  return subject;
}

interface Exchange {
  readonly idp: ExchangeSettings;
  readonly subject: string;
  readonly resource: string | undefined;
  readonly scope: string | undefined;
  /** The login server that an assertion is for; without it, an access token is requested. */
  readonly audience: string | undefined;
}

async function exchangeToken(
  { idp, subject, resource, scope, audience }: Exchange,
  server: HttpServer,
  createFetch: CreateFetch,
) {
  const fetch = createFetch({ url: idp.issuer, anyOrigin: true, allowPrivate: true, ...LIMITS });
  const { endpoint, methods } = await findEndpoint(idp, fetch, server);
  const requested = audience === undefined ? 'access_token' : 'id-jag';
  const body = new URLSearchParams({
    grant_type: TOKEN_EXCHANGE,
    subject_token: subject,
    subject_token_type: `${TOKEN_TYPE}${idp.subject ?? 'access_token'}`,
    requested_token_type: `${TOKEN_TYPE}${requested}`,
    ...(audience === undefined ? {} : { audience }),
    ...(resource === undefined ? {} : { resource }),
    ...(scope === undefined ? {} : { scope }),
  });
  const headers = new Headers({ accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' });
  if (idp.clientSecret === undefined || !methods.includes('client_secret_basic')) {
    body.set('client_id', idp.clientId);
    if (idp.clientSecret !== undefined) body.set('client_secret', idp.clientSecret);
  } else {
    const pair = [idp.clientId, idp.clientSecret].map(encodeURIComponent).join(':');
    headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`);
  }
  const response = await fetch(endpoint, { method: 'POST', headers, body });
  const answer: unknown = await response.json().catch(() => undefined);
  if (!response.ok || !isRecord(answer) || typeof answer.access_token !== 'string')
    throw fault(server, `the identity provider did not exchange the token of the caller (HTTP ${response.status})`);
  if (answer.issued_token_type !== `${TOKEN_TYPE}${requested}`)
    throw fault(server, 'the identity provider answered with a token of another type');
  const { access_token, expires_in } = answer;
  const tokens: Tokens = { access_token, scope, ...(typeof expires_in === 'number' ? { expires_in } : {}) };
  return { tokens, endpoint };
}

// Its metadata must name the issuer, over TLS or on this machine, so that the token goes nowhere else.
async function findEndpoint({ issuer }: ExchangeSettings, fetch: Fetch, server: HttpServer) {
  try {
    const metadata = await readMetadata(issuer, fetch);
    const { token_endpoint_auth_methods_supported: listed } = metadata;
    const methods: readonly unknown[] = Array.isArray(listed) ? listed : ['client_secret_basic'];
    return { endpoint: addressOf(metadata, 'token_endpoint', issuer).href, methods };
  } catch (error) {
    throw fault(server, `the metadata of ${issuer} cannot be used: ${quoteOutside((error as Error).message, 200)}`);
  }
}
