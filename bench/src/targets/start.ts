// Contains the functions that the programs of this folder share. Most of these programs are peers: servers with which
// the service is compared. A program reads its settings, which the benchmark passes as one argument in JSON, and ends
// together with the benchmark.
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

/** Fetches the only signing key of the issuer. */
export async function fetchKey(jwksUri: string): Promise<KeyObject> {
  const { keys } = (await (await fetch(jwksUri)).json()) as { keys: JsonWebKey[] };
  return createPublicKey({ key: keys[0] ?? {}, format: 'jwk' });
}

/** Ends this process when the benchmark stops it or has ended. */
export function endWithParent(): void {
  process.once('SIGTERM', () => process.exit(0));
  // The channel to the benchmark closes when the benchmark ends. The channel alone must not keep this process running.
  process.once('disconnect', () => process.exit(0));
  process.channel?.unref();
}
