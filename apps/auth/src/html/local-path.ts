// Checks the paths to which users return after signing in, and builds the path of the sign-in page.

/** With `again`, a user who is already signed in must enter the password again. */
export const signInPath = (returnTo: string, again: boolean): string =>
  `/sign-in?return=${encodeURIComponent(returnTo)}${again ? '&again=1' : ''}`;

/**
 * Returns `path` if it is a path of this server, or else `fallback`. Redirecting to any other address would be an open
 * redirect.
 */
export function localPath(path: string | undefined, fallback: string): string {
  if (path === undefined || path.length > 2000 || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(path)) return fallback;
  const base = 'http://local.invalid';
  const url = URL.parse(path, base);
  // `/a/..//evil.example` is normalised to `//evil.example`, which browsers read as another host.
  return url && url.origin === base && !url.pathname.startsWith('//') ? `${url.pathname}${url.search}` : fallback;
}
