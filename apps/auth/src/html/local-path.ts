// Builds the path of the sign-in page and checks the path that a user returns to after signing in.

const maxPathLength = 2000;
/** Browsers read `//host` and `/\host` as another server and remove tabs and line breaks from URLs. */
const pathFormat = /^\/(?![/\\])[^\\\p{Cc}]*$/u;

/** If `again`, a user who is already signed in must prove their identity again. */
export const signInPath = (returnTo: string, { again = false } = {}): string =>
  `/sign-in?return=${encodeURIComponent(returnTo)}${again ? '&again=1' : ''}`;

/** Continues an authorization request that asks for a fresh sign-in, after the user has confirmed the sign-in. */
export const freshSignInPath = (interactionUid: string): string => `/interaction/${interactionUid}/fresh`;

/** The page that asks for the second factor of a pending sign-in. */
export const secondFactorPath = '/sign-in/second-factor';
export const securityPath = '/account/security';

/** Where a signed-in user adds the missing factor (`isSetUp`), or sets one up. */
export const missingFactorPath = (returnTo: string, isSetUp: boolean): string =>
  `${isSetUp ? secondFactorPath : securityPath}?return=${encodeURIComponent(returnTo)}`;

/** Returns `path` if it is a path of this server, or else `fallback`, because of open redirects. */
export function localPath(path: string | undefined, fallback: string): string {
  if (path === undefined || path.length > maxPathLength || !pathFormat.test(path)) return fallback;
  const base = 'http://local.invalid';
  const url = URL.parse(path, base);
  // `/a/..//evil.example` is normalised to `//evil.example`, which browsers read as another host.
  return url && url.origin === base && !url.pathname.startsWith('//') ? `${url.pathname}${url.search}` : fallback;
}
