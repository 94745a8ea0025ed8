// The fields of a client as the database stores them.

export type ClientKind = 'standard' | 'driving-range' | 'personal-access-token';
export type PkcePolicy = 'required' | 'optional';

export interface StoredClient {
  readonly id: string;
  readonly kind: ClientKind;
  readonly pkce: PkcePolicy;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly scope: string;
  readonly accountId: string | null;
  readonly secretHashes: readonly string[];
}
