// Lists the paths of the protocol endpoints, with their allowed methods and their labels in the metrics.

/** The path of each endpoint. The names of the endpoints are those of oidc-provider's setting `routes`. */
export const routes = {
  authorization: '/connect/authorize',
  pushed_authorization_request: '/connect/par',
  device_authorization: '/connect/deviceauthorization',
  token: '/connect/token',
  userinfo: '/connect/userinfo',
  jwks: '/connect/jwks',
  introspection: '/connect/introspect',
  revocation: '/connect/revocation',
  end_session: '/connect/endsession',
  // interaction/device-pages.ts serves this path. oidc-provider serves the paths below it.
  code_verification: '/device',
} as const;

export const discoveryPaths: ReadonlySet<string> = new Set([
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
]);

/** The documents that every web page may read. */
export const publicDocumentPaths: ReadonlySet<string> = new Set([...discoveryPaths, routes.jwks]);

/**
 * The paths that programs request, and not users with their browsers. app.ts passes requests for these paths to
 * oidc-provider before it looks for a page. The path of userinfo is not among them, because endpoints/userinfo.ts
 * handles requests for userinfo before oidc-provider does.
 */
export const machinePaths: ReadonlySet<string> = new Set([
  routes.pushed_authorization_request,
  routes.device_authorization,
  routes.token,
  routes.introspection,
  routes.revocation,
  ...publicDocumentPaths,
]);

/** All exact paths of the protocol. Paths that contain an id are not among them. */
export const protocolPaths: ReadonlySet<string> = new Set([
  ...Object.values(routes),
  ...discoveryPaths,
  `${routes.end_session}/confirm`,
  `${routes.end_session}/success`,
]);

const browserMethods = 'GET, HEAD, POST';
const formMethods = 'POST, OPTIONS';
const documentMethods = 'GET, HEAD, OPTIONS';

/** The methods of each endpoint, as the header `Allow` lists them (RFC 9110 section 10.2.1). */
export const methodsOf: ReadonlyMap<string, string> = new Map([
  [routes.authorization, browserMethods],
  [routes.end_session, browserMethods],
  [routes.code_verification, browserMethods],
  [routes.pushed_authorization_request, formMethods],
  [routes.device_authorization, formMethods],
  [routes.token, formMethods],
  [routes.introspection, formMethods],
  [routes.revocation, formMethods],
  [routes.userinfo, `${browserMethods}, OPTIONS`],
  ...[...publicDocumentPaths].map((path) => [path, documentMethods] as const),
]);

/**
 * Returns the label `route` of the metrics for a path. The path itself is not used as the label, because a client could
 * then create an unlimited number of time series.
 */
export function routeTemplate(path: string): string {
  if (path.startsWith(`${routes.authorization}/`)) return `${routes.authorization}/{uid}`;
  if (path.startsWith(`${routes.code_verification}/`)) return `${routes.code_verification}/{uid}`;
  return protocolPaths.has(path) ? path : 'unmatched';
}
