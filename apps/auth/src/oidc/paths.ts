// Lists the paths of the protocol endpoints, with their methods and their labels in the metrics.

/** The names are those of oidc-provider's setting `routes`. */
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
  // Our own page. oidc-provider serves the paths below it.
  code_verification: '/device',
} as const;

export const discoveryPaths: ReadonlySet<string> = new Set([
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
]);

/** The documents that every web page may read. */
export const publicDocumentPaths: ReadonlySet<string> = new Set([...discoveryPaths, routes.jwks]);

/** Requests to these paths reach oidc-provider unchanged. */
export const tokenPaths: ReadonlySet<string> = new Set([routes.token, routes.introspection, routes.revocation]);

/** Programs request these paths too. endpoints/userinfo.ts comes before oidc-provider, so it is not among them. */
export const machinePaths: ReadonlySet<string> = new Set([
  routes.pushed_authorization_request,
  routes.device_authorization,
  ...publicDocumentPaths,
]);

export const protocolPaths: ReadonlySet<string> = new Set([
  ...Object.values(routes),
  ...discoveryPaths,
  `${routes.end_session}/confirm`,
  `${routes.end_session}/success`,
]);

const browserMethods = 'GET, HEAD, POST';
const formMethods = 'POST, OPTIONS';
const documentMethods = 'GET, HEAD, OPTIONS';

/** As the header `Allow` lists them (RFC 9110 section 10.2.1). */
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

/** A label with the path itself would let clients create unlimited time series. */
export function routeTemplate(path: string): string {
  if (path.startsWith(`${routes.authorization}/`)) return `${routes.authorization}/{uid}`;
  if (path.startsWith(`${routes.code_verification}/`)) return `${routes.code_verification}/{uid}`;
  return protocolPaths.has(path) ? path : 'unmatched';
}
