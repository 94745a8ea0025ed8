// Serves the page with the facilities and the personal access tokens of a service account, and the form that creates a
// token (specification, "Bookings API access", step 2).
import { randomToken } from '@bay-booking/service/secret-box';
import { type Response, Router } from 'express';
import { accessLevels, type TokenAccess } from '../../clients/metadata.ts';
import { maxActiveTokens } from '../../clients/personal-access-token-store.ts';
import { roleNames } from '../../facilities/roles.ts';
import { type FormError, field, fieldErrors, fields, queryText, textOfKey } from '../../html/forms.ts';
import type { SignedIn } from '../../html/signed-in.ts';
import type { FormState, SignedInHandler } from '../../html/site.ts';
import { validateName } from '../../input/field-rules.ts';
import type { FacilityOfAccount } from '../members/member-store.ts';
import { actorOf, type PortalServices, timeZoneOf, withInput } from '../page.ts';
import type { SecretPage } from './secret-page.ts';

/** The state of the form that creates a token, and a notice above it. */
export interface TokenForm extends FormState {
  readonly name?: string | undefined;
  readonly expiresInDays?: string | undefined;
  readonly access?: string | undefined;
  /** The ids of the ticked facilities. Undefined: all are ticked. */
  readonly chosen?: readonly string[] | undefined;
  readonly notice?: string | undefined;
}

export type ShowTokens = (response: Response, signedIn: SignedIn, form?: TokenForm) => Promise<void>;

const maxTokenDays = 365;
/** The number of days that the empty form suggests. */
const defaultDays = '90';
/** For a request without the field. The page preselects nothing. */
const defaultAccess: TokenAccess = 'write';

/** What the levels of access are called, and what they add. */
export const accessTexts: Readonly<Record<TokenAccess, readonly [name: string, detail: string]>> = {
  read: ['Read', 'See bookings, bays, opening hours and closures.'],
  write: ['Write', 'Also create, change and cancel bookings, hold bays, and register webhooks.'],
  manage: ['Manage', 'Also change opening hours and closures, where the account is Facility Manager.'],
};

const accessLevelsAt = (facilities: readonly FacilityOfAccount[]): readonly TokenAccess[] =>
  accessLevels.filter((level) => level !== 'manage' || facilities.some(({ role }) => role === 'facility-manager'));

/** The way on from a page that says why nothing was changed. */
export const toOwnTokens = { links: [{ href: '/portal', text: 'Go to your tokens' }] };

/** Why nobody can create or rotate a token. */
export const allDisabled = 'The operator of the service disabled every facility of the token. Ask the operator why.';

/** An imported token may have no name. */
export const tokenNameOf = ({ name }: { readonly name: string }): string => name || 'this token';

export const tokenPath = (clientId: string): string => `/portal/tokens/${encodeURIComponent(clientId)}`;

/** The texts that confirm a change. The query parameter `notice` is the key of a text. */
export const tokenNotices: Readonly<Record<string, string>> = {
  revoked: 'The token was revoked. Within 15 seconds, the Bookings API rejects its access tokens.',
  'revoked-here':
    'The token was revoked for this facility, and stays valid at its others. Within 15 seconds, the Bookings API ' +
    'rejects its access tokens that name this facility.',
};

export function createTokenPages(services: PortalServices, secretPage: SecretPage) {
  const { members, tokenStore, submittedForms, facilityEmails, pages } = services;
  const showTokens: ShowTokens = async (
    response,
    { account },
    {
      name = '',
      expiresInDays = defaultDays,
      access = '',
      chosen,
      notice = textOfKey(tokenNotices, queryText(response.req, 'notice')),
      ...state
    } = {},
  ) => {
    const [facilities, all] = await Promise.all([members.findFacilities(account.id), tokenStore.list(account.id)]);
    const enabled = facilities.filter(({ isDisabled }) => !isDisabled);
    const nameOf = (id: string): string => facilities.find((facility) => facility.id === id)?.name ?? id;
    return pages.show(
      response,
      'tokens',
      {
        username: account.username,
        facilities: facilities.map((facility) => ({ ...facility, roleName: roleNames[facility.role] })),
        active: all
          .filter(({ isActive }) => isActive)
          .map((token) => ({
            ...token,
            path: tokenPath(token.clientId),
            accessName: accessTexts[token.access][0],
            facilityNames: token.facilityIds?.map(nameOf).join(', ') ?? 'All facilities',
          })),
        mayCreate: enabled.length > 0,
        accessLevels: accessLevelsAt(enabled).map((level) => {
          const [text, detail] = accessTexts[level];
          return { value: level, text, detail };
        }),
        timeZone: timeZoneOf(facilities),
        ended: all.filter(({ isActive }) => !isActive),
        maxActiveTokens,
        maxTokenDays,
        chosen: chosen ?? facilities.map(({ id }) => id),
        formId: randomToken(),
        values: { name, expiresInDays, access },
      },
      { title: 'Personal access tokens', width: 'wide', notice, ...state },
    );
  };

  const createToken: SignedInHandler = async (request, response, signedIn) => {
    const { account } = signedIn;
    const [name, expiresInDays] = [field(request, 'name'), field(request, 'expiresInDays')];
    const values = { name, expiresInDays, access: field(request, 'access') };
    const requestedAccess = values.access || defaultAccess;
    const all = await members.findFacilities(account.id);
    const facilities = all.filter(({ isDisabled }) => !isDisabled);
    const ids = facilities.map(({ id }) => id);
    // If there is only one facility, there is nothing to choose.
    const ticked = fields(request, 'facility');
    const chosen = ticked.length === 0 && ids.length === 1 ? ids : [...new Set(ticked)];
    const access = accessLevelsAt(facilities).find((level) => level === requestedAccess);
    const showErrors = (status: number, ...validationErrors: FormError[]) =>
      showTokens(response, signedIn, { ...values, chosen, validationErrors, status });
    const disabled = all.find(({ id, isDisabled }) => isDisabled && chosen.includes(id));
    const isValidNumber = /^\d{1,9}$/.test(expiresInDays) && Number(expiresInDays) >= 1;
    const invalid = fieldErrors({
      name: validateName(name, 'Enter a name, such as the name of the software that will use the token.'),
      expiresInDays:
        isValidNumber && Number(expiresInDays) <= maxTokenDays
          ? undefined
          : `Enter a number of days from 1 to ${maxTokenDays}.`,
      facility: disabled
        ? `${disabled.name} is disabled. Choose other facilities.`
        : chosen.length > 0 && chosen.every((id) => ids.includes(id))
          ? undefined
          : 'Choose at least one facility.',
      access: access ? undefined : 'Choose one of these.',
    });
    if (facilities.length < all.length && facilities.length === 0) return showErrors(409, { text: allDisabled });
    if (facilities.length === 0) {
      return showErrors(409, { text: 'This account has no role at any facility, so a token would have no use.' });
    }
    if (invalid.length > 0 || !access) return showErrors(400, ...invalid);
    // A request without an id counts as a new form.
    const formId = field(request, 'form') || randomToken();
    const result = await submittedForms.once(account.id, formId, () =>
      tokenStore.create({ name, days: Number(expiresInDays), access, facilityIds: chosen }, actorOf(request, signedIn)),
    );
    if (!('error' in result)) {
      const detail = { name, days: Number(expiresInDays) };
      for (const facilityId of chosen) {
        const event = { kind: 'personal-access-token.created', accountId: account.id, facilityId, detail } as const;
        await facilityEmails.send(event, 'owners');
      }
      return secretPage.show(response, { ...result, name, access });
    }
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
      returnTo: (request) => withInput('/portal', request, ['name', 'expiresInDays', 'access', 'facility']),
    }),
  );
  return { showTokens, routes };
}
