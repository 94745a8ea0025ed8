// Defines the type of stored clients.

/** A personal access token belongs to a service account. */
export type ClientKind = 'standard' | 'driving-range' | 'personal-access-token';
export type PkcePolicy = 'required' | 'optional';

export const usesSecret = ({ token_endpoint_auth_method: method }: Readonly<Record<string, unknown>>): boolean =>
  method !== 'none' && method !== 'private_key_jwt';

export interface StoredClient {
  readonly id: string;
  readonly kind: ClientKind;
  readonly pkce: PkcePolicy;
  /** OpenID Connect client metadata, and our own settings (settings.ts). */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Space-separated. Empty for a personal access token, whose scope is fixed. */
  readonly scope: string;
  readonly accountId: string | null;
  /** The SHA-256 of each valid secret. During a rotation there are two. */
  readonly secretHashes: readonly string[];
}
