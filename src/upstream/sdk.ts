// What upstream servers use of the SDK. The build bundles it, so that the package does not depend on the SDK.

export type {
  AuthorizationServerMetadata,
  AuthProvider,
  FetchLike,
  JSONRPCMessage,
  McpSubscription,
  OAuthClientInformationMixed,
  OAuthClientProvider,
  OAuthDiscoveryState,
  Transport,
} from '@modelcontextprotocol/client';
export {
  auth,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  Client,
  createPrivateKeyJwtAuth,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  exchangeAuthorization,
  extractWWWAuthenticateParams,
  fetchToken,
  IssuerMismatchError,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
  refreshAuthorization,
  StreamableHTTPClientTransport,
  selectResourceURL,
} from '@modelcontextprotocol/client';
