// Adds checks to oidc-provider's own checks whether to show the sign-in page or the consent page. A check returns true
// if the page must be shown.
import { decodeJwt } from 'jose';
import { errors, interactionPolicy } from 'oidc-provider';
import { offlineAccess, splitScope } from '../scopes.ts';
import { grantedScope } from '../tokens/claims.ts';
import { canBeImitated } from './consent-grants.ts';
import { idpParameter, needsTwoFactors } from './requests.ts';

const { base, Check } = interactionPolicy;

/** The only reason of a prompt for a user who is signed in with one factor, if the request needs two. */
export const mfaReason = 'mfa_requested';

export function createInteractionPolicy(audience: string): interactionPolicy.DefaultPolicy {
  const policy = base();
  const loginChecks = [
    new Check('account_gone', 'the account of this session can no longer be used', 'login_required', ({ oidc }) =>
      Boolean(oidc.session?.accountId && !oidc.account),
    ),
    // Without this check, a user who is signed in would not get to the social provider.
    new Check('idp_requested', 'a sign-in at a social provider was requested', 'login_required', ({ oidc }) => {
      const idp = oidc.params?.[idpParameter];
      return Boolean(idp && !oidc.result?.login && oidc.session?.acr !== `idp:${idp}`);
    }),
    new Check(mfaReason, 'a second factor was requested', 'login_required', ({ oidc }) =>
      Boolean(needsTwoFactors(oidc.params) && oidc.session?.accountId && !oidc.session.amr?.includes('mfa')),
    ),
    // oidc-provider compares the hinted user only with the session at the start (OpenID Connect Core section 3.1.2.1).
    new Check('hinted_user', 'another user than the hinted one signed in', 'login_required', ({ oidc }) => {
      const hint = oidc.params?.id_token_hint;
      const signedIn = oidc.result?.login?.accountId;
      if (typeof hint === 'string' && signedIn !== undefined && decodeJwt(hint).sub !== signedIn) {
        throw new errors.LoginRequired('the user who signed in is not the user of id_token_hint');
      }
      return Check.NO_NEED_TO_PROMPT;
    }),
  ];
  for (const check of loginChecks) policy.get('login')?.checks.add(check);
  const consent = policy.get('consent');
  // The library's check also asks for a native app with an https redirect URI that only this app can receive.
  consent?.checks.remove('native_client_prompt');
  consent?.checks.add(
    new Check('imitable_client', 'native clients require End-User interaction', 'interaction_required', (ctx) => {
      const { client, result } = ctx.oidc;
      return client?.applicationType === 'native' && canBeImitated(ctx, client) && !result?.consent;
    }),
  );
  consent?.checks.add(
    // oidc-provider does not ask for declined scopes again. The request would fail without a page.
    new Check('nothing_granted', 'the user has declined the requested scopes before', 'consent_required', (ctx) => {
      const { grant, params, result } = ctx.oidc;
      const granted = splitScope(grant && grantedScope(ctx, params?.scope as string | undefined, audience));
      return !result?.consent && granted.every((scope) => scope === offlineAccess);
    }),
  );
  return policy;
}
