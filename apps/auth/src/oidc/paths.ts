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

export const peoplePath = '/facilities/{id}/people';

/** Returns the path as the table has it. */
export const listedPath = (path: string): string => (/^\/facilities\/[^/]+\/people$/.test(path) ? peoplePath : path);

const browserMethods = 'GET, HEAD, POST, OPTIONS';
const formMethods = 'POST, OPTIONS';
const documentMethods = 'GET, HEAD, OPTIONS';

/**
 * Browsers show a `page` to users. Programs send a `form`. oidc-provider serves every kind except `ours`, and userinfo
 * only for opaque tokens: endpoints/userinfo.ts comes before the library.
 */
type Kind = 'page' | 'form' | 'discovery' | 'keys' | 'userinfo' | 'ours';

/** The methods are written as in the header `Allow` (RFC 9110 section 10.2.1). */
const endpoints: readonly (readonly [Kind, path: string, methods: string])[] = [
  ['page', routes.authorization, browserMethods],
  ['page', routes.end_session, browserMethods],
  ['page', `${routes.end_session}/confirm`, formMethods],
  ['page', `${routes.end_session}/success`, documentMethods],
  ['page', routes.code_verification, browserMethods],
  ['form', routes.pushed_authorization_request, formMethods],
  ['form', routes.device_authorization, formMethods],
  ['form', routes.token, formMethods],
  ['form', routes.introspection, formMethods],
  ['form', routes.revocation, formMethods],
  ['discovery', '/.well-known/openid-configuration', documentMethods],
  ['discovery', '/.well-known/oauth-authorization-server', documentMethods],
  ['keys', routes.jwks, documentMethods],
  ['userinfo', routes.userinfo, browserMethods],
  ['ours', revocationsPath, documentMethods],
  ['ours', peoplePath, documentMethods],
];

const pathsOf = (...kinds: readonly Kind[]): ReadonlySet<string> =>
  new Set(endpoints.filter(([kind]) => kinds.includes(kind)).map(([, path]) => path));

export const pagePaths = pathsOf('page');
export const discoveryPaths = pathsOf('discovery');
/** The paths where clients authenticate. */
export const clientPaths = pathsOf('form');
/** The paths that oidc-provider serves to programs. */
export const machinePaths = pathsOf('form', 'discovery', 'keys');
/** Every web page may read the responses. */
export const openPaths = pathsOf('discovery', 'keys', 'userinfo', 'ours');
/** The paths that oidc-provider serves. */
export const protocolPaths = pathsOf('page', 'form', 'discovery', 'keys', 'userinfo');

export const methodsOf: ReadonlyMap<string, string> = new Map(endpoints.map(([, path, methods]) => [path, methods]));

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
