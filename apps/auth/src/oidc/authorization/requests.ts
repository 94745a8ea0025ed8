// Rewrites authorization requests before oidc-provider reads them. A repeated parameter is an array, which stays
// unchanged, because the library rejects it.
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider';
import type { LimitPushedRequests } from '../../guard/usage-limit.ts';
import { signingAlgorithms } from '../../signing-keys/store.ts';
import type { SocialProviders } from '../../social/settings.ts';
import { effectiveScopes, type RegisteredClient } from '../clients/registered-client.ts';
import type { AuthorizationQuery, Next } from '../request-state.ts';
import { normaliseScope, splitScope } from '../scopes.ts';
import { orUnavailable } from '../unavailable.ts';
import { replaceTokenResponseType } from './implicit-flow.ts';

/** An internal parameter, with the social provider of `acr_values=idp:NAME`. */
export const idpParameter = 'idp';
const idpPrefix = 'idp:';
/** An internal parameter: `required` if the request needs two factors (`acr_values=2`). */
export const mfaParameter = 'mfa';
/** The value of `acr` for two factors. */
export const twoFactors = '2';
/** Every sign-in has this level, which no token names. */
const oneFactor = '1';

/** Returns the level that the client prefers (OpenID Connect Core section 3.1.2.1). Unknown values are ignored. */
const levelOf = (acrValues: unknown): string | undefined =>
  String(acrValues ?? '')
    .split(' ')
    .find((value) => value === oneFactor || value === twoFactors);

/** Whether the request, or `default_acr_values` of its client, asks for two factors. */
export const needsTwoFactors = (params: Readonly<Record<string, unknown>> = {}): boolean =>
  params[mfaParameter] !== undefined || levelOf(params.acr_values) === twoFactors;

/** Whether the request asks for a fresh sign-in, so that an old session at a social provider is not enough. */
export const needsFreshSignIn = (params: Readonly<Record<string, unknown>>): boolean =>
  String(params.prompt ?? '')
    .split(' ')
    .includes('login') ||
  params.max_age !== undefined ||
  needsTwoFactors(params);

/**
 * oidc-provider would reject `acr_values` without openid. Internal parameters that the client has sent are removed.
 */
function moveAcrValues(query: AuthorizationQuery): AuthorizationQuery {
  const { acr_values: acrValues, [idpParameter]: sentIdp, [mfaParameter]: sentMfa, ...others } = query;
  if ([acrValues, sentIdp, sentMfa].some(Array.isArray)) return query;
  const values = (acrValues as string | undefined)?.split(' ').filter((value) => value !== '') ?? [];
  const idp = values.find((value) => value.startsWith(idpPrefix))?.slice(idpPrefix.length);
  const isOpenid = splitScope(String(query.scope ?? '')).includes('openid');
  // If openid is requested, the library returns the claim `acr` because of the parameter.
  const remaining = values.filter((value) => !value.startsWith(idpPrefix) && (value !== twoFactors || isOpenid));
  return {
    ...others,
    ...(levelOf(acrValues) === twoFactors && { [mfaParameter]: 'required' }),
    ...(remaining.length > 0 && { acr_values: remaining.join(' ') }),
    ...(idp !== undefined && { [idpParameter]: idp }),
  };
}

/** Many clients always send a nonce. oidc-provider rejects it if there is no id_token. */
function removeUnusedNonce(query: AuthorizationQuery): AuthorizationQuery {
  const { nonce, ...others } = query;
  const { scope, response_type: responseType } = query;
  const issuesIdToken = splitScope(String(scope ?? '')).includes('openid') || String(responseType).includes('id_token');
  return issuesIdToken || Array.isArray(nonce) ? query : others;
}

/** Every sign-in lets the user choose the account. oidc-provider does not know the value. */
function replaceAccountSelection(query: AuthorizationQuery): AuthorizationQuery {
  const { prompt } = query;
  if (typeof prompt !== 'string') return query;
  const prompts = prompt.split(' ').map((value) => (value === 'select_account' ? 'login' : value));
  return { ...query, prompt: [...new Set(prompts)].join(' ') };
}

function removeRepeatedSpaces(query: AuthorizationQuery): AuthorizationQuery {
  return typeof query.scope === 'string' ? { ...query, scope: normaliseScope(query.scope) } : query;
}

export function rewriteAuthorizationQuery(query: AuthorizationQuery): AuthorizationQuery {
  const supported = replaceTokenResponseType(query);
  return removeRepeatedSpaces(removeUnusedNonce(moveAcrValues(replaceAccountSelection(supported))));
}

export function rewriteAuthorizationRequests(provider: Provider, authorizationPath: string): void {
  provider.use((ctx: KoaContextWithOIDC, next: Next) => {
    if (ctx.method === 'GET' && ctx.path === authorizationPath) {
      ctx.query = rewriteAuthorizationQuery(ctx.query as AuthorizationQuery) as typeof ctx.query;
    }
    return next();
  });
}

/** `acr` is `2` if the request asked for two factors. oidc-provider always takes it from the session. */
export function setAcr(provider: Provider): void {
  provider.on('authorization.accepted', ({ oidc }) => {
    const isRequested = needsTwoFactors(oidc.params) || String(oidc.params?.acr_values).split(' ').includes(twoFactors);
    if (isRequested && oidc.session?.amr?.includes('mfa')) Object.defineProperty(oidc, 'acr', { value: twoFactors });
  });
}

type ValidateIdToken = (hint: string, client: Partial<RegisteredClient>) => Promise<unknown>;

/** The client may have been registered for another algorithm when it got the id_token. */
export function acceptHintsOfEveryAlgorithm({ IdToken }: Provider): void {
  const models = IdToken as unknown as { validate: ValidateIdToken };
  const { validate } = models;
  models.validate = function validateHint(this: unknown, hint, { clientId }) {
    const alg = signingAlgorithms.find((name) => name === decodeProtectedHeader(hint).alg);
    if (clientId === undefined || alg === undefined)
      throw new errors.InvalidRequest('could not validate id_token_hint');
    return validate.call(this, hint, { clientId, idTokenSignedResponseAlg: alg });
  };
}

/** The setting `extraParams.idp`. oidc-provider calls it for every request after its own checks. */
export function createRequestCheck(socialProviders: SocialProviders, limitPushedRequests: LimitPushedRequests) {
  return async (ctx: KoaContextWithOIDC, idp: string | undefined, client: RegisteredClient): Promise<void> => {
    setEffectiveScope(ctx, client);
    if (idp !== undefined && !socialProviders.has(idp)) {
      throw new errors.InvalidRequest('acr_values names an identity provider that is not known');
    }
    if (ctx.oidc.route === 'pushed_authorization_request') await limitPush(ctx, client, limitPushedRequests);
  };
}

async function limitPush(ctx: KoaContextWithOIDC, client: RegisteredClient, limit: LimitPushedRequests): Promise<void> {
  const isPublic = client.clientAuthMethod === 'none';
  const waitSeconds = await orUnavailable(() => limit(client.clientId, isPublic ? ctx.ip : undefined));
  if (waitSeconds === 0) return;
  ctx.set('Retry-After', String(waitSeconds));
  throw new errors.InvalidRequest('too many pushed authorization requests, try again later', 429);
}

/** oidc-provider removes offline_access unless the request has `prompt=consent`. */
function setEffectiveScope(ctx: KoaContextWithOIDC, client: RegisteredClient): void {
  const params = ctx.oidc.params as Record<string, string | undefined>;
  const sent = sentScope(ctx);
  const requested = typeof sent === 'string' ? sent : undefined;
  const hasRefreshTokens = params.response_type === 'code' || ctx.oidc.route === 'device_authorization';
  params.scope = effectiveScopes(client, requested, hasRefreshTokens).join(' ');
}

/** oidc-provider stores a pushed request as an unsigned JWT. */
function sentScope({ oidc, query }: KoaContextWithOIDC): unknown {
  const { PushedAuthorizationRequest: pushed } = oidc.entities;
  if (pushed?.request !== undefined) return decodeJwt(pushed.request).scope;
  return (oidc.route === 'authorization' ? query : (oidc.body as AuthorizationQuery)).scope;
}
