// With which headers does a page leave? It loads nothing from elsewhere, runs no script, is framed by nobody and kept by no cache.
// Contract section 5.
import type { ServerResponse } from 'node:http';

export interface PageOptions {
  readonly status?: number;
  /**
   * A form of this page may end at an application or a provider. In Chromium `form-action` holds for every redirect after a form, and
   * where a redirect URI leads on from there nobody but its owner knows: so there is none.
   */
  readonly allowExternalFormTargets?: boolean;
  /** Pages that a script of ours makes handier; they work without it. */
  readonly script?: boolean;
}

export function pageHeaders({
  allowExternalFormTargets = false,
  script = false,
}: PageOptions = {}): Record<string, string> {
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
    // Not `no-referrer`, which would take the Origin from our own forms.
    'Referrer-Policy': 'same-origin',
    'X-Frame-Options': 'DENY',
    // An application that opened the sign-in in a window of its own is waiting for that window.
    ...(!allowExternalFormTargets && { 'Cross-Origin-Opener-Policy': 'same-origin' }),
  };
}

export function sendHtml(response: ServerResponse, html: string, options: PageOptions = {}): void {
  response.statusCode = options.status ?? 200;
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  for (const [name, value] of Object.entries(pageHeaders(options))) response.setHeader(name, value);
  response.end(html);
}
