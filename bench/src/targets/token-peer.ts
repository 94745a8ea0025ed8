// What do the token endpoints have in common? A client, a key and a subject, handed over by the harness.
import { peerOptions } from './start.ts';

export interface TokenPeerOptions {
  readonly port: number;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string;
  readonly audience: string;
  /** The private key as JWK, ES256. */
  readonly key: Record<string, string>;
  /** Of these there shall be refresh tokens at GET /refresh-tokens. */
  readonly refreshTokens: number;
}

export const tokenPeerOptions = () => peerOptions<TokenPeerOptions>();
export const tokenLifetime = 3600;
export const subject = 'acc-bench-service';
export const facilitiesClaim = ['fac-bench'];
