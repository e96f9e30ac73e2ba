// What upstream servers use of the SDK. The build bundles it, so that the package does not depend on the SDK.

export type {
  AuthorizationServerMetadata,
  FetchLike,
  JSONRPCMessage,
  OAuthClientInformationMixed,
  OAuthClientProvider,
  OAuthDiscoveryState,
  Transport,
} from '@modelcontextprotocol/client';
export {
  auth,
  createPrivateKeyJwtAuth,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  exchangeAuthorization,
  extractWWWAuthenticateParams,
  fetchToken,
  IssuerMismatchError,
  refreshAuthorization,
  registerClient,
  StreamableHTTPClientTransport,
  selectResourceURL,
  startAuthorization,
} from '@modelcontextprotocol/client';
