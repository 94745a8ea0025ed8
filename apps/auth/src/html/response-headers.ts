// Builds the HTTP headers of pages and sends pages. The headers forbid content from other origins, frames and caching.
//
// The library helmet is not used, because oidc-provider (which uses Koa) also sends our pages, and because the content
// security policy depends on the page.
import type { ServerResponse } from 'node:http';

export interface HtmlOptions {
  readonly status?: number | undefined;
  /**
   * Whether a form of the page may redirect to a client or to a social provider. Leaves out two protections:
   * - `form-action`, which Chromium applies to every redirect that follows a form.
   * - `Cross-Origin-Opener-Policy`, because a client may open the page in a pop-up window that it must control.
   */
  readonly allowExternalFormTargets?: boolean | undefined;
  /** Whether the page loads our script. Every page must also work without the script. */
  readonly script?: boolean | 'passkeys' | undefined;
}

export function pageHeaders({ allowExternalFormTargets, script }: HtmlOptions = {}): Record<string, string> {
  return {
    'Content-Security-Policy': [
      "default-src 'none'",
      `script-src ${script ? "'self'" : "'none'"}`,
      ...(script === 'passkeys' ? ["connect-src 'self'"] : []),
      "style-src 'self'",
      "img-src 'self'",
      ...(allowExternalFormTargets ? [] : ["form-action 'self'"]),
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ].join('; '),
    'Cache-Control': 'no-store',
    // If it were `no-referrer`, browsers would send our own forms with `Origin: null`, which the CSRF check rejects.
    'Referrer-Policy': 'same-origin',
    'X-Frame-Options': 'DENY',
    ...(!allowExternalFormTargets && { 'Cross-Origin-Opener-Policy': 'same-origin' }),
  };
}

export function sendHtml(response: ServerResponse, html: string, options: HtmlOptions = {}): void {
  response.statusCode = options.status ?? 200;
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  for (const [name, value] of Object.entries(pageHeaders(options))) response.setHeader(name, value);
  response.end(html);
}
