// Serves style sheets, scripts and icons. Each path contains a hash of the content, so browsers may cache it for a
// year.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Router } from 'express';

const yearSeconds = 365 * 24 * 3600;

function createAsset(name: string, type: string, content: Buffer) {
  const hash = createHash('sha256').update(content).digest('base64url').slice(0, 12);
  return { path: `/assets/${hash}/${name}`, type, content };
}

const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

const require = createRequire(import.meta.url);
const webAuthnBundle = join(dirname(require.resolve('@simplewebauthn/browser')), '../dist/bundle/index.umd.min.js');

const sharedIcon = require.resolve('@bay-booking/service/http/page-icon.svg');
const sharedStyles = require.resolve('@bay-booking/service/http/page-styles.css');
/** The files in styles/. A later one overrides an earlier one. */
const styleSheets = ['content', 'tables', 'forms', 'page'];

export const assets = {
  styles: createAsset(
    'site.css',
    'text/css; charset=utf-8',
    Buffer.concat(
      [sharedStyles, ...styleSheets.map((name) => pathOf(`./styles/${name}.css`))].map((path) => readFileSync(path)),
    ),
  ),
  script: createAsset('page.js', 'text/javascript; charset=utf-8', readFileSync(pathOf('./browser/page.js'))),
  // The library SimpleWebAuthn, and our script that uses it.
  passkeys: createAsset(
    'passkeys.js',
    'text/javascript; charset=utf-8',
    Buffer.concat([readFileSync(webAuthnBundle), readFileSync(pathOf('./browser/passkeys.js'))]),
  ),
  icon: createAsset('icon.svg', 'image/svg+xml', readFileSync(sharedIcon)),
};

/** The caller creates the router: commands that render e-mails must not load Express. */
export function addAssetRoutes(router: Router): Router {
  for (const { path, type, content } of Object.values(assets)) {
    router.get(path, (_request, response) => {
      response
        .set({ 'Content-Type': type, 'Cache-Control': `public, max-age=${yearSeconds}, immutable` })
        .send(content);
    });
  }
  return router;
}
