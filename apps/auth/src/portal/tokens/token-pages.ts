// Serves the page with the facilities and the personal access tokens of a service account, and the form that creates a
// token (specification, "Bookings API access", step 2).
import { type Response, Router } from 'express';
import { validateName } from '../../accounts/field-rules.ts';
import { maxActiveTokens } from '../../clients/store.ts';
import { roleNames } from '../../facilities/roles.ts';
import { field, queryText, textOfKey } from '../../html/form-body.ts';
import type { SignedIn } from '../../html/signed-in.ts';
import type { FormState, SignedInHandler } from '../../html/site.ts';
import { fieldErrors, type ValidationError } from '../../html/validation-errors.ts';
import { randomToken } from '../../secrets.ts';
import type { Services } from '../../services.ts';
import { actorOf, type PortalPages, withInput } from '../page.ts';
import type { SecretPage } from './secret-page.ts';

/** The state of the form that creates a token, and a notice above it. */
export interface TokenForm extends FormState {
  readonly name?: string | undefined;
  readonly expiresInDays?: string | undefined;
  readonly notice?: string | undefined;
}

export type ShowTokens = (response: Response, signedIn: SignedIn, form?: TokenForm) => Promise<void>;

const maxTokenDays = 365;
/** The number of days that the empty form suggests. */
const defaultDays = '90';

export const tokenPath = (clientId: string): string => `/portal/tokens/${encodeURIComponent(clientId)}`;

/** The texts that confirm a change. The query parameter `notice` is the key of a text. */
const notices: Readonly<Record<string, string>> = {
  revoked: 'The token is revoked. It can no longer get access tokens.',
};

export function createTokenPages(
  { members, clients, submittedForms }: Services,
  pages: PortalPages,
  secretPage: SecretPage,
): { showTokens: ShowTokens; routes: Router } {
  const showTokens: ShowTokens = async (
    response,
    { account },
    {
      name = '',
      expiresInDays = defaultDays,
      notice = textOfKey(notices, queryText(response.req, 'notice')),
      ...state
    } = {},
  ) => {
    const [facilities, all] = await Promise.all([
      members.findFacilities(account.id),
      clients.listPersonalAccessTokens(account.id),
    ]);
    return pages.show(
      response,
      'tokens',
      {
        username: account.username,
        facilities: facilities.map((facility) => ({ ...facility, roleName: roleNames[facility.role] })),
        active: all.filter(({ isActive }) => isActive).map((token) => ({ ...token, path: tokenPath(token.clientId) })),
        ended: all.filter(({ isActive }) => !isActive),
        maxActiveTokens,
        maxTokenDays,
        // The page says how long the access tokens of a revoked token still work.
        longestAccessTokenTtl: Math.max(0, ...all.map((token) => token.accessTokenTtl)),
        formId: randomToken(),
        values: { name, expiresInDays },
      },
      { title: 'Personal access tokens', width: 'wide', notice, ...state },
    );
  };

  const createToken: SignedInHandler = async (request, response, signedIn) => {
    const { account } = signedIn;
    const name = field(request, 'name');
    const expiresInDays = field(request, 'expiresInDays');
    const showErrors = (status: number, ...validationErrors: ValidationError[]) =>
      showTokens(response, signedIn, { name, expiresInDays, validationErrors, status });
    const isValidNumber = /^\d{1,9}$/.test(expiresInDays) && Number(expiresInDays) >= 1;
    const invalid = fieldErrors({
      name: validateName(name, 'Enter a name, such as the name of the software that will use the token.'),
      expiresInDays:
        isValidNumber && Number(expiresInDays) <= maxTokenDays
          ? undefined
          : `Enter a number of days from 1 to ${maxTokenDays}.`,
    });
    if (invalid.length > 0) return showErrors(400, ...invalid);
    if ((await members.findFacilities(account.id)).length === 0) {
      return showErrors(409, { text: 'This account has no role at any facility, so a token would have no use.' });
    }
    // A request without an id counts as a new form.
    const formId = field(request, 'form') || randomToken();
    const result = await submittedForms.once(account.id, formId, () =>
      clients.createPersonalAccessToken({ name, days: Number(expiresInDays) }, actorOf(request, signedIn)),
    );
    if (!('error' in result)) return secretPage.show(response, { ...result, name });
    if (result.error === 'form-already-submitted') return secretPage.showAlreadyShown(response);
    const text = `An account can have up to ${maxActiveTokens} active tokens. Revoke one that is no longer used.`;
    return showErrors(409, { text });
  };

  const routes = Router();
  routes.get('/portal/tokens', (_request, response) => response.redirect(303, '/portal'));
  routes.post(
    '/portal/tokens',
    ...pages.formForServiceAccount(createToken, {
      // The response shows a secret, so the form requires a recent sign-in.
      requireFresh: true,
      returnTo: (request) => withInput('/portal', request, ['name', 'expiresInDays']),
    }),
  );
  return { showTokens, routes };
}
