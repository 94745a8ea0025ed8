// When must somebody be asked before an authorization request goes on? The library's own checks, plus: a social provider was asked for
// (`acr_values=idp:NAME`), and the session's account is gone or disabled.
import { interactionPolicy, type interactionPolicy as Policy } from 'oidc-provider';

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
  return policy;
}
