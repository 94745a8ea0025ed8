// Renders pages and e-mails from Eta templates. A template escapes every value, except the output of other templates.
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import { createAsset } from './asset.ts';
import { formatDuration, formatTime } from './time-format.ts';

const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

const eta = new Eta({ views: pathOf('..'), cache: true, autoEscape: true, autoTrim: false });

const require = createRequire(import.meta.url);
const webAuthnBundle = join(dirname(require.resolve('@simplewebauthn/browser')), '../dist/bundle/index.umd.min.js');

/** The files in styles/. A later one overrides an earlier one. */
const styleSheets = ['tokens', 'elements', 'layout', 'cards', 'forms', 'sign-in', 'lists', 'portal', 'preferences'];

export const assets = {
  styles: createAsset(
    'site.css',
    'text/css; charset=utf-8',
    Buffer.concat(styleSheets.map((name) => readFileSync(pathOf(`./styles/${name}.css`)))),
  ),
  script: createAsset('page.js', 'text/javascript; charset=utf-8', readFileSync(pathOf('./browser/page.js'))),
  // The library SimpleWebAuthn, and our script that uses it.
  passkeys: createAsset(
    'passkeys.js',
    'text/javascript; charset=utf-8',
    Buffer.concat([readFileSync(webAuthnBundle), readFileSync(pathOf('./browser/passkeys.js'))]),
  ),
  icon: createAsset('icon.svg', 'image/svg+xml', readFileSync(pathOf('./icon.svg'))),
};

/** The header of every page shows the name of the signed-in user and a button to sign out. */
export interface LayoutUser {
  readonly name: string;
  /** The CSRF token of the sign-out form. */
  readonly csrf: string;
}

/** Returns undefined if nobody is signed in, or if the session cannot be read. */
export type FindLayoutUser = (request: IncomingMessage, response: ServerResponse) => Promise<LayoutUser | undefined>;

/** The data of the template layout.eta. */
export interface Layout {
  readonly title: string;
  readonly user?: LayoutUser | undefined;
  /** The number of recovery codes that are left, after a sign-in with one. */
  readonly codesLeft?: number | undefined;
  /** The width of the page: `wide` for lists, `narrow` for forms. */
  readonly width?: 'narrow' | 'wide' | undefined;
  /** Whether the page loads the script browser/page.js, or browser/passkeys.js. */
  readonly script?: boolean | 'passkeys' | undefined;
}

/** Converts an IPv4-mapped IPv6 address (`::ffff:192.0.2.1`, RFC 4291) to the IPv4 address. */
const displayAddress = (address: string | null): string | undefined =>
  address?.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '');

/** Functions that every template of a page can call, for example as `it.formatTime(date)`. */
const functions = { formatTime, formatDuration, displayAddress };

/** `template` is the name of a template in views/, or a path below src/ such as `/portal/views/home`. */
export const renderPage = (template: string, data: object, layout: Layout): string =>
  eta.render(template.startsWith('/') ? template : `/html/views/${template}`, {
    ...functions,
    ...data,
    layout,
    assets,
  });

export const renderEmail = (email: object): string => eta.render('/html/views/email', email);
