// Which paths are the protocol's (contract section 6), and under which template does each count? Metrics never count by a raw path, of
// which there are infinitely many.

export const routes = {
  authorization: '/connect/authorize',
  token: '/connect/token',
  userinfo: '/connect/userinfo',
  jwks: '/connect/jwks',
  introspection: '/connect/introspect',
  revocation: '/connect/revocation',
  end_session: '/connect/endsession',
} as const;

export const discoveryPaths: ReadonlySet<string> = new Set([
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
]);

/** What machines ask, often. */
export const machinePaths: ReadonlySet<string> = new Set([
  routes.token,
  routes.introspection,
  routes.revocation,
  routes.jwks,
  ...discoveryPaths,
]);

export const protocolPaths: ReadonlySet<string> = new Set([
  ...Object.values(routes),
  ...discoveryPaths,
  `${routes.end_session}/confirm`,
  `${routes.end_session}/success`,
]);

const shown = 'GET, HEAD, POST';
const asked = 'POST, OPTIONS';
const read = 'GET, HEAD, OPTIONS';

/** What an endpoint takes, as `Allow` says it (RFC 9110 section 10.2.1). */
export const methodsOf: ReadonlyMap<string, string> = new Map([
  [routes.authorization, shown],
  [routes.end_session, shown],
  [routes.token, asked],
  [routes.introspection, asked],
  [routes.revocation, asked],
  [routes.userinfo, `${shown}, OPTIONS`],
  [routes.jwks, read],
  ...[...discoveryPaths].map((path) => [path, read] as const),
]);

export function routeTemplate(path: string): string {
  if (path.startsWith(`${routes.authorization}/`)) return `${routes.authorization}/{uid}`;
  return protocolPaths.has(path) ? path : 'unmatched';
}
