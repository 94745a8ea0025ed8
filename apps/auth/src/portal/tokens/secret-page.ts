// Shows a new client secret once, with `curl` commands that use it.
import type { Response } from 'express';
import type { TokenAccess } from '../../clients/metadata.ts';
import type { NewSecret } from '../../clients/personal-access-token-store.ts';
import { scopesOfAccess } from '../../oidc/scopes.ts';
import { type PortalServices, tokensBreadcrumb } from '../page.ts';

export interface ShownSecret extends NewSecret {
  readonly name: string;
  readonly access: TokenAccess;
  /** How many seconds the old secret still works after a rotation. Undefined for a new token. */
  readonly overlap?: number;
  /** In seconds, if the token sets it. */
  readonly accessTokenTtl?: number;
}

export type SecretPage = ReturnType<typeof createSecretPage>;

/**
 * Puts an argument for a POSIX shell in single quotes, if it needs quotes. Such quotes cannot contain a single quote,
 * so each one is written as `'\''`: the quotes end, a single quote follows, and the quotes begin again.
 */
const shellQuote = (text: string): string => (/^[\w./:@=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** Whether a form can contain the text without URL encoding. The option `-d` of `curl` does not encode the text. */
const needsNoEncoding = (text: string): boolean => /^[\w.:/~-]*$/.test(text);

const curlOption = ([field, value]: [string, string]): string =>
  `  ${needsNoEncoding(value) ? '-d' : '--data-urlencode'} ${shellQuote(`${field}=${value}`)}`;

export function createSecretPage({ config, scopes, site, pages }: PortalServices) {
  const tokenCommand = ({ clientId, clientSecret, access }: ShownSecret): string => {
    const form = {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      // `bookings` includes `read`.
      scope: scopesOfAccess(access, scopes)
        .filter((scope) => access === 'read' || scope !== scopes.read)
        .join(' '),
    };
    return [`curl -s ${shellQuote(`${config.issuer}/connect/token`)}`, ...Object.entries(form).map(curlOption)].join(
      ' \\\n',
    );
  };
  // The audience is also the base URL of the Bookings API.
  const apiUrl = shellQuote(`${config.bookingsAudience}/api/booking-bays`);
  const apiCommand = `curl -s ${apiUrl} \\\n  -H 'Authorization: Bearer ACCESS_TOKEN'`;

  return {
    show: (response: Response, secret: ShownSecret): Promise<void> =>
      pages.show(
        response,
        'secret',
        {
          ...secret,
          tokenCommand: tokenCommand(secret),
          apiCommand,
          accessTokenTtl: secret.accessTokenTtl ?? config.accessTokenTtl,
        },
        {
          title: secret.overlap === undefined ? `${secret.name} is created` : `${secret.name} has a new secret`,
          breadcrumbs: [tokensBreadcrumb],
        },
      ),

    showAlreadyShown: (response: Response): Promise<void> =>
      site.showMessage(response, {
        status: 409,
        title: 'The secret was already shown',
        text:
          'This form was already submitted, and it works once. If you have not saved the secret, rotate the token in ' +
          'your list to get a new one.',
        links: [{ href: '/portal', text: 'Go to your tokens' }],
      }),
  };
}
