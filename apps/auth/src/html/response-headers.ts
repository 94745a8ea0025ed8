// Builds the HTTP headers of pages: no content from other origins, no framing, no caching.
// Not helmet: oidc-provider (Koa) also sends our pages, and the policy differs from page to page.
import type { ServerResponse } from 'node:http';

export interface HeaderOptions {
  readonly status?: number | undefined;
  /**
   * A form of this page may redirect to an application or to a social provider. Chromium applies `form-action` to every
   * redirect that follows a form, and we cannot know where the redirect URI of a client redirects to. Such a page
   * therefore has no `form-action`.
   */
  readonly allowExternalFormTargets?: boolean | undefined;
  /** The page loads our script. It must also work without it. */
  readonly script?: boolean | undefined;
}

export function pageHeaders({
  allowExternalFormTargets = false,
  script = false,
}: HeaderOptions = {}): Record<string, string> {
  return {
    'Content-Security-Policy': [
      "default-src 'none'",
      `script-src ${script ? "'self'" : "'none'"}`,
      "style-src 'self'",
      "img-src 'self'",
      ...(allowExternalFormTargets ? [] : ["form-action 'self'"]),
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ].join('; '),
    'Cache-Control': 'no-store',
    // With `no-referrer`, browsers would send `Origin: null` with our own forms.
    'Referrer-Policy': 'same-origin',
    'X-Frame-Options': 'DENY',
    // An application that opened the sign-in page in a pop-up must keep its reference to that window.
    ...(!allowExternalFormTargets && { 'Cross-Origin-Opener-Policy': 'same-origin' }),
  };
}

export function sendHtml(response: ServerResponse, html: string, options: HeaderOptions = {}): void {
  response.statusCode = options.status ?? 200;
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  for (const [name, value] of Object.entries(pageHeaders(options))) response.setHeader(name, value);
  response.end(html);
}
