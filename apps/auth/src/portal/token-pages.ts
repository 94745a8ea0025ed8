// A service account's facilities and personal access tokens: the list, and creating one (specification, "Bookings API access" 2; contract
// section 5). The secret is on the answer of the form alone: neither a reload nor the way back shows it again or makes another.
import { type Request, type Response, Router } from 'express';
import type { ClientStore, PersonalAccessToken } from '../clients/store.ts';
import { field, queryText } from '../html/form-body.ts';
import { byField, type ValidationError } from '../html/validation-errors.ts';
import type { SignedIn } from '../interaction/browser-session.ts';
import type { PeopleStore } from './member-store.ts';
import type { PortalPages } from './page.ts';
import { roleWords } from './rules.ts';
import type { ShowSecret } from './secret-page.ts';
import { liveTokensAtMost, longestLife, type Tokens } from './tokens.ts';
import type { UsedForms } from './used-form-store.ts';

export interface TokenPagesOptions {
  readonly pages: PortalPages;
  readonly people: Pick<PeopleStore, 'facilitiesOf'>;
  readonly clients: Pick<ClientStore, 'listPersonalAccessTokens'>;
  readonly usedForms: Pick<UsedForms, 'newId'>;
  readonly tokens: Pick<Tokens, 'create'>;
  readonly showSecret: ShowSecret;
  readonly accessTokenTtl: number;
}

export interface TypedToken {
  readonly name?: string | undefined;
  readonly expiresInDays?: string | undefined;
  readonly validationErrors?: readonly ValidationError[];
  readonly status?: number;
}

export type ShowTokens = (
  request: Request,
  response: Response,
  signedIn: SignedIn,
  typed?: TypedToken,
) => Promise<void>;

const defaultDays = '90';

export const tokenPath = (clientId: string): string => `/portal/tokens/${encodeURIComponent(clientId)}`;

export const isLive = ({ disabledAt, expiresAt }: PersonalAccessToken, now = new Date()): boolean =>
  !disabledAt && (!expiresAt || expiresAt > now);

const notices: Readonly<Record<string, string>> = {
  revoked: 'The token is revoked: it gets no access token any more.',
};

export function createTokenPages(options: TokenPagesOptions): { showTokens: ShowTokens; routes: Router } {
  const { pages, people, clients, usedForms, tokens, showSecret, accessTokenTtl } = options;

  const showTokens: ShowTokens = async (
    request,
    response,
    { account },
    { name = '', expiresInDays = defaultDays, validationErrors = [], status = 200 } = {},
  ) => {
    const [facilities, all] = await Promise.all([
      people.facilitiesOf(account.id),
      clients.listPersonalAccessTokens(account.id),
    ]);
    const listed = all.map((token) => ({ ...token, path: tokenPath(token.clientId) }));
    const live = listed.filter((token) => isLive(token));
    return pages.show(
      request,
      response,
      'tokens',
      {
        username: account.username,
        facilities: facilities.map((facility) => ({ ...facility, roleWords: roleWords[facility.role] })),
        live,
        ended: listed.filter((token) => !isLive(token)),
        full: live.length >= liveTokensAtMost,
        liveTokensAtMost,
        longestLife,
        accessTokenTtl,
        formId: usedForms.newId(),
        validationErrors,
        errors: byField(validationErrors),
        values: { name, expiresInDays },
      },
      {
        title: validationErrors.length > 0 ? 'Error: Personal access tokens' : 'Personal access tokens',
        status,
        width: 'wide',
        notice: notices[queryText(request, 'notice') ?? ''],
      },
    );
  };

  const router = Router();
  router.get('/portal/tokens', (_request, response) => response.redirect(303, '/portal'));
  router.post(
    '/portal/tokens',
    ...pages.formForServiceAccount(
      async (request, response, signedIn) => {
        const { account } = signedIn;
        const name = field(request, 'name');
        const expiresInDays = field(request, 'expiresInDays');
        const again = (status: number, validationErrors: readonly ValidationError[]) =>
          showTokens(request, response, signedIn, { name, expiresInDays, validationErrors, status });
        const validationErrors = findTokenErrors(name, expiresInDays);
        if (validationErrors.length > 0) return again(400, validationErrors);
        if ((await people.facilitiesOf(account.id)).length === 0) {
          return again(409, [{ text: 'This account has no role at any facility, so a token could do nothing yet.' }]);
        }
        const made = await tokens.create(
          account,
          { name, days: Number(expiresInDays), formId: field(request, 'form') || usedForms.newId() },
          { accountId: account.id, address: request.ip },
        );
        if ('refused' in made) {
          return made.refused === 'sent-before'
            ? showSecret.again(request, response)
            : again(409, [
                { text: `${liveTokensAtMost} tokens are the most. Revoke one that nothing uses any more first.` },
              ]);
        }
        return showSecret.first(request, response, { ...made, name, deed: 'created' });
      },
      { back: () => '/portal', fields: ['name', 'expiresInDays'], fresh: true },
    ),
  );
  return { showTokens, routes: router };
}

function findTokenErrors(name: string, days: string): ValidationError[] {
  const validationErrors: ValidationError[] = [];
  if (name === '')
    validationErrors.push({
      field: 'name',
      text: 'Enter a name, such as that of the program that will use the token.',
    });
  else if (name.length > 100 || /\p{Cc}/u.test(name)) {
    validationErrors.push({ field: 'name', text: 'Use 100 characters at most, on one line.' });
  }
  if (!/^\d{1,9}$/.test(days) || Number(days) < 1 || Number(days) > longestLife) {
    validationErrors.push({ field: 'expiresInDays', text: `Enter a number of days from 1 to ${longestLife}.` });
  }
  return validationErrors;
}
