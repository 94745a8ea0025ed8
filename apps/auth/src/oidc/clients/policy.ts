// Adds our own rules for clients to oidc-provider: hashed secrets, the claims of assertions, a rate limit, the scope
// rules, and the error `unauthorized_client` (RFC 6749 sections 4.1.2.1 and 5.2).
import { hash, timingSafeEqual } from 'node:crypto';
import { errors, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import { addressKey } from '../../guard/keys.ts';
import { type AuthorizationQuery, requestState } from '../request-state.ts';
import { normaliseScope, offlineAccess, type ScopeTable, splitScope } from '../scopes.ts';
import {
  checkRequestedScopes,
  deviceCodeGrantType,
  effectiveScopes,
  ownMetadataOf,
  type RegisteredClient,
} from './registered-client.ts';

interface PolicyOptions {
  readonly tokenRateLimit: RateLimit;
  readonly scopes: ScopeTable;
  readonly resource: { checkRequested(requested: unknown, scope: string | undefined): void };
}

export function applyClientPolicy(provider: Provider, { tokenRateLimit, scopes, resource }: PolicyOptions): void {
  const prototype = provider.Client.prototype as RegisteredClient;
  const { grantTypeAllowed, responseTypeAllowed } = prototype;

  prototype.compareClientSecret = function compareWithHashes(this: RegisteredClient, presented: string): boolean {
    return matchesSecret(presented, ownMetadataOf(this).secret_hashes);
  };

  // oidc-provider calls this method as soon as a client has authenticated, before it reads `scope`.
  prototype.grantTypeAllowed = function checkTokenRequest(this: RegisteredClient, type: string): boolean {
    const allowed = grantTypeAllowed.call(this, type);
    const ctx = currentContext();
    // Other calls only ask whether the client is registered for the grant type.
    if (!ctx || requestedGrantType(ctx) !== type || requestState(ctx).isClientChecked) return allowed;
    requestState(ctx).isClientChecked = true;
    limitClient(ctx, this, tokenRateLimit);
    if (type === 'client_credentials') limitSubject(ctx, tokenRateLimit, this.clientId);
    // The specification does not allow client_credentials to driving-range clients ("Client credentials flow").
    const isRange = type === 'client_credentials' && ownMetadataOf(this).kind === 'driving-range';
    if (!allowed || isRange) throw new errors.UnauthorizedClient('this client may not use this grant type');
    const params = ctx.oidc.params as Record<string, string | string[] | undefined>;
    // Before a code or refresh token is used up. Our own grants do not declare the parameter.
    resource.checkRequested((ctx.oidc.body as AuthorizationQuery).resource, [params.scope].flat()[0]);
    // oidc-provider rejects a repeated parameter, which is an array, in a later step.
    if (Array.isArray(params.scope)) return true;
    // oidc-provider would reject repeated spaces.
    params.scope = normaliseScope(params.scope ?? '') || undefined;
    if (type === 'client_credentials') {
      const requested = withoutOfflineAccess(splitScope(params.scope));
      const namesAllowed = this.clientAuthMethod !== 'none';
      checkRequestedScopes(scopes, this, { requested, issuesIdToken: false, namesAllowed });
      params.scope = requested.join(' ');
    }
    if (ctx.oidc.route === 'device_authorization') {
      const requested = effectiveScopes(this, params.scope);
      checkRequestedScopes(scopes, this, { requested, issuesIdToken: true });
    }
    return true;
  };

  // Called before oidc-provider checks `scope`. Its error would often be `invalid_request` instead of `invalid_scope`.
  prototype.responseTypeAllowed = function checkAuthorizationRequest(this: RegisteredClient, type): boolean {
    const allowed = responseTypeAllowed.call(this, type);
    const ctx = currentContext();
    if (!ctx || !['authorization', 'pushed_authorization_request'].includes(ctx.oidc?.route)) return allowed;
    if (!allowed) throw new errors.UnauthorizedClient('this client may not use this response type');
    const isCodeFlow = type === 'code';
    checkRequestedScopes(scopes, this, {
      requested: effectiveScopes(this, ctx.oidc.params?.scope as string | undefined, isCodeFlow),
      issuesIdToken: isCodeFlow || type.includes('id_token'),
    });
    return true;
  };
}

const currentContext = () => Provider.ctx as KoaContextWithOIDC | undefined;

function requestedGrantType({ oidc }: KoaContextWithOIDC): unknown {
  if (oidc?.route === 'device_authorization') return deviceCodeGrantType;
  return oidc?.route === 'token' ? oidc.params?.grant_type : undefined;
}

/** Everybody can use a public client, so its requests are counted for each network. */
function limitClient(ctx: KoaContextWithOIDC, client: RegisteredClient, limit: RateLimit): void {
  const isPublic = client.clientAuthMethod === 'none';
  rejectAbove(ctx, limit(isPublic ? `${client.clientId} ${addressKey(ctx.ip)}` : client.clientId, 10));
}

/** Limits the requests of a client for one user or, with client_credentials, for itself. */
export function limitSubject(ctx: KoaContextWithOIDC, limit: RateLimit, subject: string): void {
  rejectAbove(ctx, limit(`subject ${subject} ${ctx.oidc.client?.clientId}`, 1));
}

function rejectAbove(ctx: KoaContextWithOIDC, waitSeconds: number): void {
  if (waitSeconds === 0) return;
  ctx.set('Retry-After', String(waitSeconds));
  throw new errors.InvalidRequest('too many token requests from this client, try again later', 429);
}

/** Limits the memory. Above it, the count that has been idle for the longest time is deleted. */
const maxCounts = 10_000;

/**
 * Counts one request under a key, whose limit is the usual limit multiplied by `factor`. Returns 0 if the request is
 * allowed, or else the seconds until the next request is allowed.
 */
export type RateLimit = (key: string, factor: number) => number;

/**
 * Limits the requests to this process. 0 means no limit. A new count begins with each full minute of the clock.
 * rate-limiter-flexible is not used, because oidc-provider needs the result synchronously.
 */
export function createRateLimit(perMinute: number, now: () => number = Date.now): RateLimit {
  let minute = 0;
  let counts = new Map<string, number>();
  return (key, factor) => {
    if (perMinute === 0) return 0;
    const currentMinute = Math.floor(now() / 60_000);
    if (currentMinute !== minute) {
      minute = currentMinute;
      counts = new Map();
    }
    const count = (counts.get(key) ?? 0) + 1;
    // Deleting a key and setting it again moves it to the end.
    counts.delete(key);
    if (counts.size >= maxCounts) counts.delete(counts.keys().next().value as string);
    counts.set(key, count);
    return count > factor * perMinute ? Math.max(1, Math.ceil(((minute + 1) * 60_000 - now()) / 1000)) : 0;
  };
}

/**
 * `client_credentials` issues no refresh tokens, so `offline_access` is removed. If it is the only scope, it stays, and
 * the scope rules reject the request.
 */
function withoutOfflineAccess(requested: readonly string[]): readonly string[] {
  const others = requested.filter((scope) => scope !== offlineAccess);
  return others.length > 0 ? others : requested;
}

/** Compares all hashes, so that the time does not reveal which one matches. */
function matchesSecret(presented: string, storedHashes: readonly string[]): boolean {
  const presentedHash = hash('sha256', presented, 'buffer');
  let matches = false;
  for (const storedHash of storedHashes) {
    const expected = Buffer.from(storedHash, 'base64url');
    if (expected.length === presentedHash.length && timingSafeEqual(expected, presentedHash)) matches = true;
  }
  return matches;
}

/** The identifier of each assertion is stored until the assertion expires. */
const maxLifetimeSeconds = 24 * 3600;
/** FAPI 2.0 Security Profile section 5.3.2.1 */
const maxClockSkewSeconds = 60;

/**
 * Checks the claims of a client assertion (RFC 7523 section 3) after oidc-provider has checked the signature.
 *
 * The audience must be the issuer as a string. Another server in a list could use the assertion at ours.
 */
export async function checkClientAssertion(
  ctx: KoaContextWithOIDC,
  { aud, exp, iat }: { readonly aud?: unknown; readonly exp?: unknown; readonly iat?: unknown },
): Promise<void> {
  const now = Date.now() / 1000;
  if (aud !== ctx.oidc.issuer) throw new errors.InvalidClientAuth('audience (aud) must equal the issuer');
  // `iat` is optional: the comparison with NaN is false.
  if (Number(iat) > now + maxClockSkewSeconds) throw new errors.InvalidClientAuth('iat is in the future');
  if (Number(exp) > now + maxLifetimeSeconds) {
    throw new errors.InvalidClientAuth('the client_assertion JWT must expire within a day');
  }
}
