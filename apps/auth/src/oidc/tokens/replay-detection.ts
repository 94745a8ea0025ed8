// Accepts each client assertion (RFC 7523) and DPoP proof (RFC 9449) once. oidc-provider looks an identifier up and
// then stores it, so two concurrent requests could both pass. Here, one statement does both.
import { hash } from 'node:crypto';
import type { Provider } from 'oidc-provider';
import type { ArtifactStore } from '../storage/artifacts.ts';

/** The clocks of the instances differ, and an `iat` may be 300 s in the future. */
const marginSeconds = 600;

/** Resolves to false if the `jti` was used before. `expiresAt` is in seconds since 1970. */
export type RecordFirstUse = (issuer: string, jti: string, expiresAt: number) => Promise<boolean>;

export const createReplayDetection =
  (artifacts: Pick<ArtifactStore, 'insertOnce'>): RecordFirstUse =>
  (issuer, jti, expiresAt) => {
    const expiresIn = Math.max(0, Math.ceil(expiresAt - Date.now() / 1000)) + marginSeconds;
    return artifacts.insertOnce('ReplayDetection', hash('sha256', JSON.stringify([issuer, jti])), expiresIn);
  };

export function registerReplayDetection(provider: Provider, recordFirstUse: RecordFirstUse): void {
  (provider.ReplayDetection as { unique: RecordFirstUse }).unique = recordFirstUse;
}
