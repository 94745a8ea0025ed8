// What does a peer need to know? Handed over as one JSON argument by the harness; peers read no environment.
import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';

export interface PeerOptions {
  readonly port: number;
  readonly databaseUrl: string;
  readonly jwksUri: string;
  readonly issuer: string;
  readonly audience: string;
  readonly scope: string;
  readonly baseUrl: string;
}

export function peerOptions<Options = PeerOptions>(): Options {
  return JSON.parse(process.argv[2] ?? '{}') as Options;
}

/** The issuer's one signing key. */
export async function fetchKey(jwksUri: string): Promise<KeyObject> {
  const { keys } = (await (await fetch(jwksUri)).json()) as { keys: JsonWebKey[] };
  return createPublicKey({ key: keys[0] ?? {}, format: 'jwk' });
}

/** Ends with the harness, and when it says so. */
export function endWithParent(): void {
  process.once('SIGTERM', () => process.exit(0));
  process.once('disconnect', () => process.exit(0));
  process.channel?.unref();
}
