// Settings that the token endpoints share: a client, a key and a subject, passed by the harness.
import { peerOptions } from './start.ts';

export interface TokenPeerOptions {
  readonly port: number;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string;
  readonly audience: string;
  /** The private ES256 key as JWK. */
  readonly key: Record<string, string>;
  /** Number of refresh tokens that GET /refresh-tokens returns. */
  readonly refreshTokens: number;
  /** A database for targets that need one. */
  readonly databaseUrl: string;
}

export const tokenPeerOptions = () => peerOptions<TokenPeerOptions>();
export const tokenLifetime = 3600;
export const subject = 'acc-bench-service';
export const facilitiesClaim = ['fac-bench'];
