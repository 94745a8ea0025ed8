// Renders pages and e-mails from Eta templates. A template escapes every value, except the output of other templates.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import { assets } from './asset.ts';
import type { FormError } from './forms.ts';
import { formatDuration, formatTime } from './time-format.ts';

const eta = new Eta({
  views: fileURLToPath(new URL('..', import.meta.url)),
  cache: true,
  autoEscape: true,
  autoTrim: false,
});

/** The header of every page shows the name of the signed-in user and a button to sign out. */
export interface LayoutUser {
  readonly name: string;
  /** The CSRF token of the sign-out form. */
  readonly csrf: string;
}

/** Returns undefined if nobody is signed in, or if the session cannot be read. */
export type FindLayoutUser = (request: IncomingMessage, response: ServerResponse) => Promise<LayoutUser | undefined>;

export interface PageLink {
  readonly href: string;
  readonly text: string;
}

/** The data of the template layout.eta. */
export interface Layout {
  readonly title: string;
  /** The errors of a form. Templates also get `errors`: the texts by the name of the field. */
  readonly validationErrors?: readonly FormError[] | undefined;
  readonly user?: LayoutUser | undefined;
  readonly breadcrumbs?: readonly PageLink[] | undefined;
  /** Confirms a successful change. */
  readonly notice?: string | undefined;
  /** The width of the page: `wide` for lists, `narrow` for forms. */
  readonly width?: 'narrow' | 'wide' | undefined;
  /** Whether the page loads the script browser/page.js, or browser/passkeys.js. */
  readonly script?: boolean | 'passkeys' | undefined;
}

/** Converts an IPv4-mapped IPv6 address (`::ffff:192.0.2.1`, RFC 4291) to the IPv4 address. */
const displayAddress = (address: string | null): string | undefined =>
  address?.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '');

/** The HTML of a time. `isShort` leaves out the time zone, for a page that names it once. */
const time = (date: Date, timeZone?: string, { isShort = false } = {}): string =>
  eta.render('/html/views/time', { ...formatTime(date, timeZone), isShort }).trim();

/** The attributes of fields that several forms have (views/field.eta). */
const inputs = {
  email: { autocomplete: 'username', inputmode: 'email', verbatim: true },
  code: { autocomplete: 'one-time-code', inputmode: 'numeric', verbatim: true },
  name: { autocomplete: 'off' },
  password: { type: 'password', autocomplete: 'current-password' },
  newPassword: {
    type: 'password',
    autocomplete: 'new-password',
    minlength: 8,
    hint: 'Use at least 8 characters. A few unrelated words make a good password.',
  },
};

/** What every template of a page can use, for example as `it.time(date)`. */
const common = { time, formatDuration, displayAddress, inputs };

/** `template` is the name of a template in views/, or a path below src/ such as `/portal/views/home`. */
export const renderPage = (template: string, data: object, layout: Layout): string =>
  eta.render(template.startsWith('/') ? template : `/html/views/${template}`, { ...common, ...data, layout, assets });

export const renderEmail = (email: object): string => eta.render('/html/views/email', email);
