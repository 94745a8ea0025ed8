// Builds the path of the sign-in page, and checks the path to which a user returns after signing in.

const maxPathLength = 2000;
/**
 * Matches a path that begins with exactly one slash, and that contains no backslash and no control character. Browsers
 * read `//host` and `/\host` as the address of another server, and remove tabs and line breaks from addresses.
 */
const pathFormat = /^\/(?![/\\])[^\\\p{Cc}]*$/u;

/**
 * Returns the path of the sign-in page, from which the user returns to the path `returnTo`. If `again` is true, a user
 * who is already signed in must prove their identity again.
 */
export const signInPath = (returnTo: string, { again = false } = {}): string =>
  `/sign-in?return=${encodeURIComponent(returnTo)}${again ? '&again=1' : ''}`;

/**
 * Returns `path` in normalised form and without its fragment, if it is a path of this server. Otherwise returns
 * `fallback`. A redirect to the address of another server would be an open redirect.
 */
export function localPath(path: string | undefined, fallback: string): string {
  if (path === undefined || path.length > maxPathLength || !pathFormat.test(path)) return fallback;
  const base = 'http://local.invalid';
  const url = URL.parse(path, base);
  // `/a/..//evil.example` is normalised to `//evil.example`, which browsers read as another host.
  return url && url.origin === base && !url.pathname.startsWith('//') ? `${url.pathname}${url.search}` : fallback;
}
