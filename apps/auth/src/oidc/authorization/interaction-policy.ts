// Decides when an authorization request must show the sign-in page or the consent page. This file adds four checks to
// the checks of oidc-provider. A check returns true if the page must be shown. It can also throw an error, which
// rejects the request. `oidc.result` contains the results of the pages that the user has completed for this request.
import { decodeJwt } from 'jose';
import { errors, interactionPolicy } from 'oidc-provider';
import { offlineAccess, splitScope } from '../scopes.ts';
import { grantedScope } from './granted-scope.ts';
import { idpParameter } from './requests.ts';

const { base, Check } = interactionPolicy;

/** `audience` is the audience of access tokens for the Bookings API. */
export function createInteractionPolicy(audience: string): interactionPolicy.DefaultPolicy {
  const policy = base();
  const login = policy.get('login');
  login?.checks.add(
    new Check('account_gone', 'the account of this session can no longer be used', 'login_required', ({ oidc }) =>
      Boolean(oidc.session?.accountId && !oidc.account),
    ),
  );
  login?.checks.add(
    // `acr_values=idp:NAME` requests a sign-in at a social provider. Without this check, a user who is already signed
    // in would not get to the provider.
    new Check('idp_requested', 'a sign-in at a social provider was requested', 'login_required', ({ oidc }) => {
      const idp = oidc.params?.[idpParameter];
      return Boolean(idp && !oidc.result?.login && oidc.session?.acr !== `idp:${idp}`);
    }),
  );
  login?.checks.add(
    // OpenID Connect Core section 3.1.2.1: only the user of `id_token_hint` may sign in. oidc-provider verifies the
    // signature of the hint, and compares its user with the session when the request arrives. It does not compare them
    // again after a sign-in.
    new Check('hinted_user', 'another user than the hinted one signed in', 'login_required', ({ oidc }) => {
      const hint = oidc.params?.id_token_hint;
      const signedIn = oidc.result?.login?.accountId;
      if (typeof hint === 'string' && signedIn !== undefined && decodeJwt(hint).sub !== signedIn) {
        throw new errors.LoginRequired('the user who signed in is not the user of id_token_hint');
      }
      return Check.NO_NEED_TO_PROMPT;
    }),
  );
  policy.get('consent')?.checks.add(
    // Shows the consent page if the user has granted none of the requested scopes. oidc-provider does not ask for
    // declined scopes again, so the request would otherwise fail with access_denied and show no page
    // (docs/behaviour.md, "Scopes"). `offline_access` does not count, because a refresh token without any other scope
    // has no use.
    new Check('nothing_granted', 'the user has declined the requested scopes before', 'consent_required', (ctx) => {
      const { grant, params, result } = ctx.oidc;
      const granted = splitScope(grant && grantedScope(ctx, params?.scope as string | undefined, audience));
      return !result?.consent && granted.every((scope) => scope === offlineAccess);
    }),
  );
  return policy;
}
