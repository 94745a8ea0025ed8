// Reads the settings of a peer: a server that the service is compared with. The benchmark passes them as one JSON
// argument.
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

/** The only signing key of the issuer. */
export async function fetchKey(jwksUri: string): Promise<KeyObject> {
  const { keys } = (await (await fetch(jwksUri)).json()) as { keys: JsonWebKey[] };
  return createPublicKey({ key: keys[0] ?? {}, format: 'jwk' });
}

/** Stops the peer when the harness ends or asks for it. */
export function endWithParent(): void {
  process.once('SIGTERM', () => process.exit(0));
  process.once('disconnect', () => process.exit(0));
  process.channel?.unref();
}
