// What holds for a client at the token endpoint beyond the library's rules? Secrets are compared with hashes, a grant that is not the
// client's is unauthorized_client, one client may ask only so often, and in development implicit clients may live on localhost.
// RFC 6749 sections 2.3.1 and 5.2; contract sections 2 and 6.
import { errors, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import { matchesSecret } from '../clients/secret.ts';
import { isLoopback } from '../http/loopback.ts';
import { ownMetadataOf, type RegisteredClient } from './registered-client.ts';
import { requestState } from './request-state.ts';

/** Counts a request under this name. Returns the seconds that the client must wait, or 0. */
export type TokenRateLimit = (name: string) => number;

/** A public client is used by many users, so it is counted for each IP address. Returns as `TokenRateLimit` does. */
export const countTokenRequest = (limit: TokenRateLimit, client: RegisteredClient, address: string): number =>
  limit(client.clientAuthMethod === 'none' ? `${client.clientId} ${address}` : client.clientId);

export interface ClientRuleOptions {
  readonly development: boolean;
  readonly limit: TokenRateLimit;
}

/** Checks that the library makes when it reads a client's metadata, and that are for the open internet. */
const forTheOpenInternet = new Set(['implicit-force-https', 'implicit-forbid-localhost']);

interface Schema {
  readonly redirect_uris?: readonly string[];
  invalidate(message: string, code?: string): void;
}

export function registerClientRules(provider: Provider, { development, limit }: ClientRuleOptions): void {
  const client = provider.Client.prototype as RegisteredClient;
  const { grantTypeAllowed } = client;

  client.compareClientSecret = function compareWithHashes(this: RegisteredClient, presented: string): boolean {
    return matchesSecret(presented, ownMetadataOf(this).secret_hashes);
  };

  // The token endpoint asks this first once a client has proven who it is, so here is where it is told no.
  client.grantTypeAllowed = function grantTypeOfClient(this: RegisteredClient, type: string): boolean {
    const allowed = grantTypeAllowed.call(this, type);
    const ctx = Provider.ctx as KoaContextWithOIDC | undefined;
    if (ctx?.oidc?.route !== 'token' || ctx.oidc.params?.grant_type !== type) return allowed;
    const notes = requestState(ctx);
    if (notes.grantTypeAsked) return allowed;
    notes.grantTypeAsked = true;
    const wait = countTokenRequest(limit, this, ctx.ip);
    if (wait > 0) {
      ctx.set('Retry-After', String(wait));
      throw new errors.InvalidRequest('too many token requests from this client, try again later', 429);
    }
    if (!allowed) throw new errors.UnauthorizedClient('this client may not use this grant type');
    return true;
  };

  if (development) allowLoopbackImplicit(provider);
}

export function allowLoopbackImplicit(provider: Provider): void {
  const schema = (provider.Client as unknown as { Schema: { prototype: Schema } }).Schema.prototype;
  const { invalidate } = schema;
  schema.invalidate = function invalidateUnlessLocal(this: Schema, message: string, code?: string): void {
    const local = (this.redirect_uris ?? []).every((uri) => URL.parse(uri)?.protocol === 'https:' || isLoopback(uri));
    if (code !== undefined && forTheOpenInternet.has(code) && local) return;
    invalidate.call(this, message, code);
  };
}
