// With which headers does a page leave? It loads nothing from elsewhere, runs no script, is framed by nobody and kept by no cache.
// `form-action` covers the redirects that follow a form in Chromium, so it names where the form may end up (contract section 5).
import type { ServerResponse } from 'node:http';

export interface PageOptions {
  readonly status?: number;
  /** Besides this server: origins or schemes to which a form of this page may lead. */
  readonly formAction?: readonly string[];
  /** Pages that a script of ours makes handier; they work without it. */
  readonly script?: boolean;
}

export function pageHeaders({ formAction = [], script = false }: PageOptions = {}): Record<string, string> {
  return {
    'Content-Security-Policy': [
      "default-src 'none'",
      `script-src ${script ? "'self'" : "'none'"}`,
      "style-src 'self'",
      "img-src 'self'",
      `form-action ${["'self'", ...formAction].join(' ')}`,
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ].join('; '),
    'Cache-Control': 'no-store',
    // Not `no-referrer`, which would take the Origin from our own forms.
    'Referrer-Policy': 'same-origin',
    'X-Frame-Options': 'DENY',
    // An application that opened the sign-in in a window of its own is waiting for that window.
    ...(formAction.length === 0 && { 'Cross-Origin-Opener-Policy': 'same-origin' }),
  };
}

export function sendHtml(response: ServerResponse, html: string, options: PageOptions = {}): void {
  response.statusCode = options.status ?? 200;
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  for (const [name, value] of Object.entries(pageHeaders(options))) response.setHeader(name, value);
  response.end(html);
}

/** What `form-action` must allow so that a form's answer may end at this redirect URI. */
export function formTarget(redirectUri: unknown): readonly string[] {
  const url = typeof redirectUri === 'string' ? URL.parse(redirectUri) : null;
  if (!url) return [];
  return [url.protocol === 'https:' || url.protocol === 'http:' ? url.origin : url.protocol];
}
