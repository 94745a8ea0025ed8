// Defines the types of a stored client.

export type ClientKind = 'standard' | 'driving-range' | 'personal-access-token';
export type PkcePolicy = 'required' | 'optional';

export interface StoredClient {
  readonly id: string;
  readonly kind: ClientKind;
  readonly pkce: PkcePolicy;
  /** The OpenID Connect client metadata as it was imported. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Every scope that the client may request, space-separated. */
  readonly scope: string;
  /** The service account of a personal access token. Null for other clients. */
  readonly accountId: string | null;
  readonly secretHashes: readonly string[];
}
