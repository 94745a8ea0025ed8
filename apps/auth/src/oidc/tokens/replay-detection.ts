// Ensures that each client assertion (RFC 7523) and each DPoP proof (RFC 9449) is accepted only once by all instances
// together.
//
// oidc-provider first looks up the identifier of an assertion or proof, and then stores it. Two concurrent requests
// could both pass this check. Here, one statement looks up and stores the identifier, so exactly one of the requests
// passes.
import { hash } from 'node:crypto';
import type { Provider } from 'oidc-provider';
import type { ArtifactStore } from '../storage/artifacts.ts';

/**
 * The seconds for which an identifier is stored longer than a second use could be accepted, because the clocks of the
 * instances and of the database may differ.
 */
const marginSeconds = 600;

/**
 * Stores that an assertion or proof with this issuer and `jti` was used. Resolves to false if it was already used
 * before. `expiresAt` is the time until which a second use must be detected, in seconds since 1970.
 */
export type RecordFirstUse = (issuer: string, jti: string, expiresAt: number) => Promise<boolean>;

export const createReplayDetection =
  (artifacts: Pick<ArtifactStore, 'insertOnce'>): RecordFirstUse =>
  (issuer, jti, expiresAt) => {
    const expiresIn = Math.max(0, Math.ceil(expiresAt - Date.now() / 1000)) + marginSeconds;
    return artifacts.insertOnce('ReplayDetection', hash('sha256', JSON.stringify([issuer, jti])), expiresIn);
  };

/**
 * Replaces the replay check that oidc-provider makes for assertions and proofs. Only the proofs at userinfo are checked
 * elsewhere (dpop.ts), because our own code serves userinfo.
 */
export function registerReplayDetection(provider: Provider, recordFirstUse: RecordFirstUse): void {
  (provider.ReplayDetection as { unique: RecordFirstUse }).unique = recordFirstUse;
}
