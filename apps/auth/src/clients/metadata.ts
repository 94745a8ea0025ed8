// Defines the type of stored clients. `usesSecret` returns whether a client has a secret.

/** A driving-range client is the app of a driving range. A personal access token belongs to a service account. */
export type ClientKind = 'standard' | 'driving-range' | 'personal-access-token';
/** Whether the client must use PKCE (RFC 7636). */
export type PkcePolicy = 'required' | 'optional';

export const usesSecret = ({ token_endpoint_auth_method: method }: Readonly<Record<string, unknown>>): boolean =>
  method !== 'none' && method !== 'private_key_jwt';

export interface StoredClient {
  readonly id: string;
  readonly kind: ClientKind;
  readonly pkce: PkcePolicy;
  /** OpenID Connect client metadata. Imported metadata contain default values (import/imported-client.ts). */
  readonly metadata: Readonly<Record<string, unknown>>;
  /**
   * Every scope that the client may request, space-separated. Empty for a personal access token: its scope is fixed.
   */
  readonly scope: string;
  /** The service account of a personal access token. Null for other clients. */
  readonly accountId: string | null;
  /** The SHA-256 of each valid secret. During a rotation there are two. Empty for a client without a secret. */
  readonly secretHashes: readonly string[];
}
