// Shows a new client secret once, with `curl` commands that use it.
import type { Request, Response } from 'express';
import type { NewSecret } from '../clients/store.ts';
import { type PortalPages, tokensBreadcrumb } from './page.ts';

export interface ShownSecret extends NewSecret {
  /** The name of the personal access token. */
  readonly name: string;
  /** The seconds for which the old secret still works after a rotation. Undefined for a new token. */
  readonly overlap?: number;
  /** The lifetime of access tokens in seconds. Undefined if the personal access token does not set a lifetime. */
  readonly accessTokenTtl?: number;
}

export interface SecretPageOptions {
  readonly pages: PortalPages;
  readonly issuer: string;
  readonly bookingsScope: string;
  /** The base URL of the Bookings API, which is also the default audience of its access tokens. */
  readonly bookingsApi: string;
  /** The lifetime of access tokens in seconds. It applies to personal access tokens that do not set a lifetime. */
  readonly accessTokenTtl: number;
}

export type SecretPage = ReturnType<typeof createSecretPage>;

/** Quotes an argument for a POSIX shell, if it needs quotes. */
const shellQuote = (text: string): string => (/^[\w./:@=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** Whether a form can contain the text without URL encoding. The option `-d` of `curl` does not encode the text. */
const needsNoEncoding = (text: string): boolean => /^[\w.:/~-]*$/.test(text);

const curlOption = ([field, value]: [string, string]): string =>
  `  ${needsNoEncoding(value) ? '-d' : '--data-urlencode'} ${shellQuote(`${field}=${value}`)}`;

export function createSecretPage(options: SecretPageOptions) {
  const { pages, issuer, bookingsScope, bookingsApi, accessTokenTtl } = options;

  const tokenCommand = ({ clientId, clientSecret }: NewSecret): string => {
    const form = {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      scope: bookingsScope,
    };
    return [`curl -s ${shellQuote(`${issuer}/connect/token`)}`, ...Object.entries(form).map(curlOption)].join(' \\\n');
  };
  const apiUrl = shellQuote(`${bookingsApi}/api/booking-bays`);
  const apiCommand = `curl -s ${apiUrl} \\\n  -H 'Authorization: Bearer ACCESS_TOKEN'`;

  return {
    show: (request: Request, response: Response, secret: ShownSecret): Promise<void> =>
      pages.show(
        request,
        response,
        'secret',
        {
          ...secret,
          tokenCommand: tokenCommand(secret),
          apiCommand,
          accessTokenTtl: secret.accessTokenTtl ?? accessTokenTtl,
        },
        {
          title: secret.overlap === undefined ? `${secret.name} is created` : `${secret.name} has a new secret`,
          breadcrumbs: [tokensBreadcrumb],
        },
      ),

    showAlreadyShown: (request: Request, response: Response): Promise<void> =>
      pages.showMessage(request, response, {
        status: 409,
        title: 'The secret was already shown',
        text:
          'This form was already submitted, and it works once. If you have not saved the secret, rotate the token in ' +
          'your list to get a new one.',
        links: [{ href: '/portal', text: 'Go to your tokens' }],
      }),
  };
}
