// Reads the settings of the targets with a token endpoint: a client and a key, which the benchmark passes. Defines the
// subject and the claims of their tokens.
import { peerOptions } from './start.ts';

export interface TokenPeerOptions {
  readonly port: number;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string;
  readonly audience: string;
  /** The private ES256 key as JWK. */
  readonly key: Record<string, string>;
  /** The number of refresh tokens that GET /refresh-tokens returns. */
  readonly refreshTokens: number;
  /** The database of the target, if it uses one. */
  readonly databaseUrl: string;
}

export const tokenPeerOptions = () => peerOptions<TokenPeerOptions>();
export const tokenLifetime = 3600;
export const subject = 'acc-bench-service';
export const facilitiesClaim = ['fac-bench'];
