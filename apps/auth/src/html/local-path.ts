// May somebody be sent there after signing in? Only to a page of this server: anything else is an open redirect.

/** The page to sign in, and the way back; `again` for who is signed in and should say so once more. */
export const signInAndBack = (back: string, again: boolean): string =>
  `/sign-in?return=${encodeURIComponent(back)}${again ? '&again=1' : ''}`;

export function localPath(path: string | undefined, fallback: string): string {
  if (path === undefined || path.length > 2000 || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(path)) return fallback;
  const base = 'http://here.invalid';
  const url = URL.parse(path, base);
  // `/a/..//elsewhere` collapses to `//elsewhere`.
  return url && url.origin === base && !url.pathname.startsWith('//') ? `${url.pathname}${url.search}` : fallback;
}
