// Lists the paths of the protocol endpoints, with their methods and their labels in the metrics.
import { revocationsPath } from '../revocations/endpoint.ts';

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

const publicDocumentPaths: ReadonlySet<string> = new Set([...discoveryPaths, routes.jwks]);

export const peoplePath = '/facilities/{id}/people';

/** Returns the path as the sets and maps below have it. */
export const listedPath = (path: string): string => (/^\/facilities\/[^/]+\/people$/.test(path) ? peoplePath : path);

/** Every web page may read the responses. */
export const openPaths: ReadonlySet<string> = new Set([
  ...publicDocumentPaths,
  routes.userinfo,
  revocationsPath,
  peoplePath,
]);

/** Programs request these paths of oidc-provider. endpoints/userinfo.ts comes before it, so it is not among them. */
export const machinePaths: ReadonlySet<string> = new Set([
  routes.token,
  routes.introspection,
  routes.revocation,
  routes.pushed_authorization_request,
  routes.device_authorization,
  ...publicDocumentPaths,
]);

const endSessionConfirm = `${routes.end_session}/confirm`;
const endSessionSuccess = `${routes.end_session}/success`;

/** Browsers show these to users. */
export const pagePaths: ReadonlySet<string> = new Set([
  routes.authorization,
  routes.end_session,
  endSessionConfirm,
  endSessionSuccess,
  routes.code_verification,
]);

export const protocolPaths: ReadonlySet<string> = new Set([...Object.values(routes), ...discoveryPaths, ...pagePaths]);

const browserMethods = 'GET, HEAD, POST, OPTIONS';
const formMethods = 'POST, OPTIONS';
const documentMethods = 'GET, HEAD, OPTIONS';

/** As the header `Allow` lists them (RFC 9110 section 10.2.1). */
export const methodsOf: ReadonlyMap<string, string> = new Map([
  [routes.authorization, browserMethods],
  [routes.end_session, browserMethods],
  [routes.code_verification, browserMethods],
  [endSessionConfirm, formMethods],
  [endSessionSuccess, documentMethods],
  [routes.pushed_authorization_request, formMethods],
  [routes.device_authorization, formMethods],
  [routes.token, formMethods],
  [routes.introspection, formMethods],
  [routes.revocation, formMethods],
  [routes.userinfo, browserMethods],
  ...[...publicDocumentPaths, revocationsPath, peoplePath].map((path) => [path, documentMethods] as const),
]);

/** The paths that read a form. */
export const formPaths: ReadonlySet<string> = new Set(
  [...methodsOf].filter(([, methods]) => methods.includes('POST')).map(([path]) => path),
);

/** Programs expect JSON. */
export const isMachinePath = (path: string): boolean =>
  (methodsOf.has(listedPath(path)) && !pagePaths.has(path)) || path.startsWith('/management/');

/** A label with the path itself would let clients create unlimited time series. */
export function routeTemplate(path: string): string {
  if (path.startsWith(`${routes.authorization}/`)) return `${routes.authorization}/{uid}`;
  if (path.startsWith(`${routes.code_verification}/`)) return `${routes.code_verification}/{uid}`;
  return protocolPaths.has(path) || listedPath(path) === peoplePath ? listedPath(path) : 'unmatched';
}
