// Creates the provider, the running instance of oidc-provider, and replaces it when the signing keys change. A provider
// reads its keys only once. All other data is in the database, so a new provider can replace the old one between two
// requests. signing-keys/schedule.ts explains the rotation of keys.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '@bay-booking/service/logging';
import { startLoop } from '@bay-booking/service/periodic';
import type { JWK, Provider } from 'oidc-provider';
import { retryAfter } from '../http/unavailable.ts';
import { WrongEncryptionKey } from '../signing-keys/encryption.ts';
import { createKeySchedule } from '../signing-keys/schedule.ts';
import type { SigningKey } from '../signing-keys/signing-key.ts';
import type { KeyStore } from '../signing-keys/store.ts';
import { unavailable } from './unavailable.ts';

/** The time between two checks of the key table. */
const pollIntervalMs = 2_000;

export interface ProviderManagerOptions {
  readonly keyStore: KeyStore;
  readonly createProvider: (keys: readonly JWK[]) => Provider;
  /**
   * The longest lifetime of the tokens that this instance signs for clients that do not set `access_token_ttl`. A
   * retired key stays published at least for this time.
   */
  readonly tokenLifetimeSeconds: number;
  readonly logger: Logger;
}

export interface ProviderManager {
  /** Returns the current provider. Throws an error with status 503 until the keys have been loaded. */
  readonly provider: () => Provider;
  /**
   * Returns the private JWKs of the current provider. The keys that sign now come first. Throws an error with status
   * 503 until the keys have been loaded.
   */
  readonly signingKeys: () => readonly JWK[];
  /** Returns the state of every key in the key table. The list is empty until the keys have been loaded. */
  readonly keys: () => readonly SigningKey[];
  /** Handles a request with the current provider. Responds with a 503 until the keys have been loaded. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Checks the key table now. This also happens every 2 s. */
  readonly refresh: () => Promise<void>;
  /** Whether the keys have been loaded. */
  readonly isReady: () => boolean;
  readonly close: () => Promise<void>;
}

interface CurrentProvider {
  readonly provider: Provider;
  readonly handle: ProviderManager['handle'];
  readonly jwks: readonly JWK[];
  readonly keys: readonly SigningKey[];
}

/** @throws {WrongEncryptionKey} if KEY_ENCRYPTION_KEY cannot decrypt the stored keys */
export async function createProviderManager(options: ProviderManagerOptions): Promise<ProviderManager> {
  const { keyStore, createProvider, tokenLifetimeSeconds, logger } = options;
  const schedule = createKeySchedule(keyStore);
  let running: CurrentProvider | undefined;
  /** The ids and states of the keys of the running provider. */
  let fingerprint = '';

  const refresh = async (): Promise<void> => {
    // The first call creates keys if there are none. Later calls change the keys whose time has come: they activate,
    // retire or delete keys.
    await (running ? schedule.advance() : schedule.ensureCurrentKeys());
    const keys = await keyStore.load();
    const newFingerprint = keys.map(({ kid, state }) => `${kid} ${state}`).join('\n');
    if (newFingerprint === fingerprint) return;
    // The lifetime of tokens is stored before this instance signs a token. A retired key then stays published until the
    // tokens of all instances have expired.
    await keyStore.recordTokenLifetime(tokenLifetimeSeconds);
    const jwks = keys.map(({ privateJwk }) => privateJwk as JWK);
    const provider = createProvider(jwks);
    const callback = provider.callback();
    // The promise of `callback` is not awaited, because oidc-provider responds to its own errors.
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
    provider: () => current().provider,
    signingKeys: () => current().jwks,
    keys: () => running?.keys ?? [],
    handle: (request, response) => {
      if (running) return running.handle(request, response);
      response.writeHead(503, { 'Content-Type': 'application/json', 'Retry-After': retryAfter });
      response.end('{"error":"temporarily_unavailable","error_description":"the service is starting"}');
    },
    isReady: () => running !== undefined,
    refresh,
    close: loop.stop,
  };
}
