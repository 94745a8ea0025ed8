// The one page that shows a secret: client_id, client_secret and a `curl` that works as it stands. And the page that says why it is not
// shown again.
import type { Request, Response } from 'express';
import { type PortalPages, tokensCrumb } from './page.ts';

export interface ShownSecret {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly name: string;
  readonly deed: 'created' | 'rotated';
  /** Seconds that the old secret goes on. */
  readonly overlap?: number;
}

export interface SecretPageOptions {
  readonly pages: PortalPages;
  readonly issuer: string;
  readonly bookingsScope: string;
  /** Where the Bookings API answers, which is its audience unless its keeper chose another name for that. */
  readonly bookingsApi: string;
  readonly accessTokenTtl: number;
}

export type ShowSecret = ReturnType<typeof createSecretPage>;

/** For a POSIX shell: between single quotes everything is itself but the quote. */
const quote = (text: string): string => (/^[\w./:@=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** Means the same in a form whether it is encoded or not. */
const isPlain = (text: string): boolean => /^[\w.:/~-]*$/.test(text);

export function createSecretPage({ pages, issuer, bookingsScope, bookingsApi, accessTokenTtl }: SecretPageOptions) {
  return {
    first(request: Request, response: Response, secret: ShownSecret): Promise<void> {
      const { clientId, clientSecret, name, deed } = secret;
      const fields = {
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
        scope: bookingsScope,
      };
      const curl = [
        `curl -s ${quote(`${issuer}/connect/token`)}`,
        ...Object.entries(fields).map(
          ([field, value]) => `  ${isPlain(value) ? '-d' : '--data-urlencode'} ${quote(`${field}=${value}`)}`,
        ),
      ].join(' \\\n');
      const next = `curl -s ${quote(`${bookingsApi}/api/booking-bays`)} \\\n  -H 'Authorization: Bearer ACCESS_TOKEN'`;
      return pages.show(
        request,
        response,
        'secret',
        { ...secret, curl, next, accessTokenTtl },
        {
          title: deed === 'created' ? `${name} is created` : `${name} has a new secret`,
          width: 'narrow',
          crumbs: [tokensCrumb],
        },
      );
    },

    again: (request: Request, response: Response): Promise<void> =>
      pages.showMessage(request, response, {
        status: 409,
        title: 'The secret was shown already',
        text: 'This form was sent before, and it works once. If you have not kept the secret, rotate the token in your list: that gives it a new one.',
        links: [{ href: '/portal', text: 'To your tokens' }],
      }),
  };
}
