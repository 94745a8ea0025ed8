// Decides when an authorization request must show the sign-in page or the consent page: the checks of oidc-provider and
// four of our own.
import { decodeJwt } from 'jose';
import { errors, interactionPolicy } from 'oidc-provider';
import { idpParameter } from './authorization-request.ts';
import { grantedScope } from './granted-scope.ts';
import { offlineAccess, splitScope } from './scopes.ts';

const { base, Check } = interactionPolicy;

/** `audience` is the audience of the custom scopes. */
export function createInteractionPolicy(audience: string): interactionPolicy.DefaultPolicy {
  const policy = base();
  const login = policy.get('login');
  login?.checks.add(
    new Check('account_gone', 'the account of this session can no longer be used', 'login_required', ({ oidc }) =>
      Boolean(oidc.session?.accountId && !oidc.account),
    ),
  );
  login?.checks.add(
    // Without this check, a browser that is already signed in would silently keep its user.
    new Check('idp_requested', 'a sign-in at a social provider was requested', 'login_required', ({ oidc }) => {
      const idp = oidc.params?.[idpParameter];
      return Boolean(idp && !oidc.result?.login && oidc.session?.acr !== `idp:${idp}`);
    }),
  );
  login?.checks.add(
    // OpenID Connect Core section 3.1.2.1: the user that the request names must be the one who signs in. The library
    // verifies the signature of the hint and compares the user when the request arrives, but does not compare again
    // after a sign-in.
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
    // The library does not ask again for declined scopes. If it would grant nothing else, the request would fail with
    // access_denied before the user sees a page (docs/behaviour.md, "Scopes"). A refresh token without any other scope
    // would be of no use, so offline_access does not count.
    new Check('nothing_granted', 'the user has declined the requested scopes before', 'consent_required', (ctx) => {
      const { grant, params, result } = ctx.oidc;
      const granted = splitScope(grant && grantedScope(ctx, params?.scope as string | undefined, audience));
      return !result?.consent && granted.every((scope) => scope === offlineAccess);
    }),
  );
  return policy;
}
