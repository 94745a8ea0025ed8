// Reads the settings that the benchmark passes to the peers of auth: the servers whose token endpoint is compared with
// that of auth. Also defines the subject and the claims of the tokens that the peers issue.
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
  readonly refreshTokenCount: number;
  /** Servers that need no database ignore this URL. */
  readonly databaseUrl: string;
}

export const tokenPeerOptions = () => peerOptions<TokenPeerOptions>();
/** In seconds. */
export const tokenLifetime = 3600;
export const subject = 'acc-bench-service';
export const facilitiesClaim = ['fac-bench'];
