// Runs the OpenID conformance plans "basic", "implicit", "form post basic" and "form post implicit", for a provider
// with discovery and static clients. Each test has the name of a module of the suite; docs/conformance.md lists the
// results. config-and-logout.test.ts contains the module oidcc-idtoken-unsigned, which needs no response type.
import { useFixture } from '@bay-booking/testkit/fixture';
import { describe, test } from '@jest/globals';
import { type ModuleName, modules } from './modules.ts';
import { createRelyingParty, startForRelyingParty, type Variant } from './relying-party.ts';

const server = useFixture(() => startForRelyingParty());

/** The modules that each plan runs with each of its response types. */
const forEveryResponseType: readonly ModuleName[] = [
  'oidcc-server',
  'oidcc-idtoken-signature',
  'oidcc-scope-profile',
  'oidcc-scope-email',
  'oidcc-scope-address',
  'oidcc-scope-phone',
  'oidcc-scope-all',
  'oidcc-alternate-happy-flow',
  'oidcc-display-page',
  'oidcc-display-popup',
  'oidcc-prompt-login',
  'oidcc-prompt-none-not-logged-in',
  'oidcc-prompt-none-logged-in',
  'oidcc-max-age-1',
  'oidcc-max-age-10000',
  'oidcc-ensure-request-with-unknown-parameter-succeeds',
  'oidcc-id-token-hint',
  'oidcc-login-hint',
  'oidcc-ui-locales',
  'oidcc-claims-locales',
  'oidcc-ensure-request-with-acr-values-succeeds',
  'oidcc-ensure-registered-redirect-uri',
  'oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported',
  'oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported',
  'oidcc-ensure-request-object-with-redirect-uri',
  'oidcc-claims-essential',
];
/** The modules that need an access token, which the response type `id_token` does not return. */
const userinfoModules: readonly ModuleName[] = [
  'oidcc-userinfo-get',
  'oidcc-userinfo-post-header',
  'oidcc-userinfo-post-body',
];
/** The module whose request has no response type. Each plan therefore runs it in only one of its variants. */
const responseTypeMissing = 'oidcc-response-type-missing';
const codeModules: readonly ModuleName[] = [
  'oidcc-ensure-request-without-nonce-succeeds-for-code-flow',
  'oidcc-codereuse',
  'oidcc-codereuse-30seconds',
  'oidcc-ensure-post-request-succeeds',
  'oidcc-refresh-token',
  'oidcc-ensure-request-with-valid-pkce-succeeds',
];

const basicPlan: [Variant, readonly ModuleName[]][] = [
  [{ responseType: 'code' }, [...forEveryResponseType, ...userinfoModules, responseTypeMissing, ...codeModules]],
  [{ responseType: 'code', clientAuth: 'post' }, ['oidcc-server-client-secret-post']],
];
const implicitPlan: [Variant, readonly ModuleName[]][] = [
  [{ responseType: 'id_token' }, [...forEveryResponseType, 'oidcc-ensure-request-without-nonce-fails']],
  [
    { responseType: 'id_token token' },
    [...forEveryResponseType, 'oidcc-ensure-request-without-nonce-fails', ...userinfoModules, responseTypeMissing],
  ],
];
const plans = {
  'oidcc-basic-certification-test-plan': basicPlan,
  'oidcc-implicit-certification-test-plan': implicitPlan,
};

for (const [plan, variants] of Object.entries(plans)) {
  for (const responseMode of [undefined, 'form_post'] as const) {
    describe(responseMode ? plan.replace('oidcc-', 'oidcc-formpost-') : plan, () => {
      for (const [variant, names] of variants) {
        test.each(names)(`%s (${variant.responseType})`, (name) =>
          modules[name](createRelyingParty(server, { ...variant, ...(responseMode && { responseMode }) })),
        );
      }
    });
  }
}
