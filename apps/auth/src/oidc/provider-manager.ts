// Creates the provider and replaces it when the signing keys change, because a provider reads its keys only once.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { noteCause } from '@bay-booking/service/http/app';
import type { Logger } from '@bay-booking/service/logging';
import { startLoop } from '@bay-booking/service/periodic';
import type { Response } from 'express';
import type { JWK, Provider } from 'oidc-provider';
import { retryAfter } from '../http/errors.ts';
import { type KeyStore, type SigningKey, WrongEncryptionKey } from '../signing-keys/store.ts';
import { unavailable } from './unavailable.ts';

const pollIntervalMs = 2_000;

export type ProviderManager = Awaited<ReturnType<typeof createProviderManager>>;

interface CurrentProvider {
  readonly provider: Provider;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  readonly jwks: readonly JWK[];
  readonly keys: readonly SigningKey[];
}

/**
 * A retired key stays published for `tokenLifetimeSeconds` at least.
 * @throws {WrongEncryptionKey} if KEY_ENCRYPTION_KEY cannot decrypt the stored keys
 */
export async function createProviderManager(
  keyStore: KeyStore,
  createProvider: (keys: readonly JWK[]) => Provider,
  tokenLifetimeSeconds: number,
  logger: Logger,
) {
  let running: CurrentProvider | undefined;
  let fingerprint = '';

  const refresh = async (): Promise<void> => {
    await (running ? keyStore.advance() : keyStore.ensureCurrentKeys());
    const keys = await keyStore.load();
    const newFingerprint = keys.map(({ kid, state }) => `${kid} ${state}`).join('\n');
    if (newFingerprint === fingerprint) return;
    // Stored before this instance signs, so that a retired key stays published until all tokens have expired.
    await keyStore.recordTokenLifetime(tokenLifetimeSeconds);
    const jwks = keys.map(({ privateJwk }) => privateJwk as JWK);
    const provider = createProvider(jwks);
    const callback = provider.callback();
    running = { provider, handle: (request, response) => void callback(request, response), jwks, keys };
    fingerprint = newFingerprint;
    logger.info({ keys: keys.map(({ kid, alg, state }) => `${alg} ${state} ${kid}`) }, 'signing keys loaded');
  };

  // If the database is unavailable or not migrated yet, this instance starts and tries again until it is ready. A wrong
  // KEY_ENCRYPTION_KEY stops the start, because trying again cannot help.
  await refresh().catch((err: unknown) => {
    if (err instanceof WrongEncryptionKey) throw err;
    logger.warn({ err }, 'signing keys cannot be loaded yet');
  });
  // After an error, the provider continues to sign with the keys that it has.
  const loop = startLoop({ name: 'check signing keys', intervalMs: pollIntervalMs, run: refresh, logger });

  const current = (): CurrentProvider => {
    if (!running) throw unavailable(new Error('no signing keys are loaded yet'));
    return running;
  };
  return {
    /** Until the keys have been loaded, this and the next function throw an error with status 503. */
    provider: () => current().provider,
    /** The keys that sign now come first. */
    signingKeys: () => current().jwks,
    keys: (): readonly SigningKey[] => running?.keys ?? [],
    handle: (request: IncomingMessage, response: ServerResponse) => {
      if (running) return running.handle(request, response);
      noteCause(response as Response, new Error('signing keys are not loaded yet'));
      response.writeHead(503, { 'Content-Type': 'application/json', 'Retry-After': retryAfter });
      response.end('{"error":"temporarily_unavailable","error_description":"the service is starting"}');
    },
    isReady: () => running !== undefined,
    refresh,
    close: loop.stop,
  };
}
