// When must somebody be asked before an authorization request goes on? The library's own checks, plus: a social provider was asked for
// (`acr_values=idp:NAME`), the session's account is gone or disabled, and whoever signed in is not whom the client meant by `id_token_hint`
// (OpenID Connect Core section 3.1.2.1).
import { decodeJwt } from 'jose';
import { errors, interactionPolicy, type interactionPolicy as Policy } from 'oidc-provider';

const { base, Check } = interactionPolicy;

export function createInteractionPolicy(idpParameter: string): Policy.DefaultPolicy {
  const policy = base();
  const login = policy.get('login');
  login?.checks.add(
    new Check('account_gone', 'the account of this session can no longer be used', 'login_required', ({ oidc }) =>
      Boolean(oidc.session?.accountId && !oidc.account),
    ),
  );
  login?.checks.add(
    // Without this a browser that is signed in would quietly keep its old user.
    new Check('idp_requested', 'a sign-in at a social provider was asked for', 'login_required', ({ oidc }) => {
      const idp = oidc.params?.[idpParameter];
      return Boolean(idp && !oidc.result?.login && oidc.session?.acr !== `idp:${idp}`);
    }),
  );
  login?.checks.add(
    // The library looks at the hint, and at its signature, when the request comes in; not when it goes on after a sign-in.
    new Check('hinted_user', 'somebody else than the hinted user signed in', 'login_required', ({ oidc }) => {
      const hint = oidc.params?.id_token_hint;
      const signedIn = oidc.result?.login?.accountId;
      if (typeof hint === 'string' && signedIn !== undefined && decodeJwt(hint).sub !== signedIn) {
        throw new errors.LoginRequired('somebody else than the user of id_token_hint signed in');
      }
      return Check.NO_NEED_TO_PROMPT;
    }),
  );
  return policy;
}
