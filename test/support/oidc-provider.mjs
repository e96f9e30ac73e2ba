// An identity provider in a process of its own (oidc-provider), on loopback. Its argument is who may log in, with their groups,
// as JSON; it sends its address to the process that forked it. The name in its form is the login.

import { createServer } from 'node:http';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider } from 'oidc-provider';

const PEOPLE = JSON.parse(process.argv[2]);
const SCOPES = ['openid', 'offline_access', 'mcp'];

const server = createServer();
// A client must not send on a connection that is being closed, however busy the machine is.
server.keepAliveTimeout = 0;
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;
const { privateKey } = await generateKeyPair('ES256', { extractable: true });

const provider = new Provider(issuer, {
  jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig' }] },
  clients: [],
  scopes: SCOPES,
  claims: { openid: ['sub', 'groups'] },
  pkce: { required: () => true },
  cookies: { keys: ['of the test'] },
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, groups: PEOPLE[id] }) }),
  extraTokenClaims: (_, { accountId }) => ({ groups: PEOPLE[accountId] }),
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
  ttl: { AccessToken: 300, Grant: 3600, IdToken: 300, Interaction: 300, RefreshToken: 3600, Session: 3600 },
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => undefined,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, resource) => ({
        scope: 'mcp',
        audience: resource,
        accessTokenFormat: 'jwt',
        accessTokenTTL: 300,
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
});

const answer = provider.callback();
server.on('request', (request, response) => {
  const isForm = request.url.startsWith('/interaction/');
  const served = isForm ? interact(request, response) : answer(request, response);
  Promise.resolve(served).catch((error) => response.writeHead(500).end(String(error)));
});

async function interact(request, response) {
  const { params } = await provider.interactionDetails(request, response);
  if (request.method !== 'POST') {
    response.writeHead(200, { 'content-type': 'text/html' });
    return response.end('<form method="post"><input name="name"><button>Log in</button></form>');
  }
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const name = new URLSearchParams(Buffer.concat(chunks).toString()).get('name');
  if (!Object.hasOwn(PEOPLE, name)) return response.writeHead(403).end('unknown person');
  const grant = new provider.Grant({ accountId: name, clientId: params.client_id });
  grant.addOIDCScope(SCOPES.join(' '));
  if (params.resource !== undefined) grant.addResourceScope(params.resource, 'mcp');
  const consent = { grantId: await grant.save() };
  return provider.interactionFinished(request, response, { login: { accountId: name }, consent });
}

// Ends with the process that started it.
process.on('disconnect', () => process.exit());
process.send(issuer);
