// Accepts each client assertion (RFC 7523) and each DPoP proof (RFC 9449) once, over all instances.
//
// The library first looks for the identifier and then stores it, so two requests at the same time could both pass. Here
// one statement does both, and the database decides which request is first.
import { hash } from 'node:crypto';
import type { Provider } from 'oidc-provider';
import type { ArtifactStore } from './storage/artifacts.ts';

/** Seconds that an identifier is stored beyond the time that the library names: a proof may be from the future. */
const margin = 600;

export type IsFirstUse = (issuer: string, jti: string, expiresAt: number) => Promise<boolean>;

/** `expiresAt` is in seconds since 1970. */
export const createReplayDetection =
  (artifacts: Pick<ArtifactStore, 'insertOnce'>): IsFirstUse =>
  (issuer, jti, expiresAt) => {
    const expiresIn = Math.max(0, Math.ceil(expiresAt - Date.now() / 1000)) + margin;
    return artifacts.insertOnce('ReplayDetection', hash('sha256', JSON.stringify([issuer, jti])), expiresIn);
  };

/** Replaces the library's check, which assertions at every endpoint and proofs at the token endpoint use. */
export function registerReplayDetection(provider: Provider, isFirstUse: IsFirstUse): void {
  (provider.ReplayDetection as { unique: IsFirstUse }).unique = isFirstUse;
}
