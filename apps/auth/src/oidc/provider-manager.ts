// How do keys rotate with no restart and no refused request? The provider reads its keys once, so a change of the key table makes a new
// provider (all state is in the database) that takes over behind the same address. Every instance looks a few seconds apart.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '@bay-booking/service/logging';
import type { JWK, Provider } from 'oidc-provider';
import { retryAfter } from '../http/unavailable.ts';
import { type KeyRow, type KeyStore, WrongEncryptionKey } from '../signing-keys/store.ts';
import { unavailable } from './unavailable.ts';

export interface ProviderManagerOptions {
  readonly keys: KeyStore;
  readonly build: (keys: readonly JWK[]) => Provider;
  /** Seconds: the longest life of a token that this instance signs. */
  readonly longestTtl: number;
  readonly logger: Logger;
  readonly pollInterval?: number;
}

export interface ProviderManager {
  readonly provider: () => Provider;
  /** Private JWKs in use, the signing ones first. */
  readonly signingKeys: () => readonly JWK[];
  /** What is known of the keys beside their secret; none before they could be loaded. */
  readonly keyRows: () => readonly KeyRow[];
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Looks at the key table now; otherwise that happens every few seconds. */
  readonly refresh: () => Promise<void>;
  /** False until keys could be loaded for the first time. */
  readonly isReady: () => boolean;
  readonly close: () => void;
}

/** @throws {WrongEncryptionKey} */
export async function createProviderManager(options: ProviderManagerOptions): Promise<ProviderManager> {
  const { keys, build, longestTtl, logger, pollInterval = 2_000 } = options;
  let fingerprint = '';
  let current:
    | { provider: Provider; handle: ProviderManager['handle']; jwks: readonly JWK[]; rows: readonly KeyRow[] }
    | undefined;

  const refresh = async (): Promise<void> => {
    if (!current) await keys.ensure();
    else await keys.advance();
    const loaded = await keys.load();
    const found = loaded.map(({ kid, state }) => `${kid} ${state}`).join('\n');
    if (found === fingerprint) return;
    // A next key signs from its time on for as long as this instance makes tokens live.
    await keys.noteTtl(longestTtl);
    const jwks = loaded.map(({ privateJwk }) => privateJwk as JWK);
    const provider = build(jwks);
    const handle = provider.callback();
    current = { provider, handle: (request, response) => void handle(request, response), jwks, rows: loaded };
    fingerprint = found;
    logger.info({ keys: loaded.map(({ kid, alg, state }) => `${alg} ${state} ${kid}`) }, 'signing keys loaded');
  };

  const inUse = () => {
    if (!current) throw unavailable(new Error('no signing keys are loaded yet'));
    return current;
  };

  let failing = false;
  // A database that is away or not migrated yet is waited for, unready; a wrong secret will not become right.
  await refresh().catch((err: unknown) => {
    if (err instanceof WrongEncryptionKey) throw err;
    failing = true;
    logger.warn({ err }, 'signing keys cannot be loaded yet');
  });

  let timer: NodeJS.Timeout;
  const poll = (): void => {
    timer = setTimeout(() => {
      refresh()
        .then(
          () => {
            failing = false;
          },
          (err: unknown) => {
            // The keys at hand go on signing; one line is enough to say so.
            if (!failing) logger.warn({ err }, 'key table cannot be read');
            failing = true;
          },
        )
        .finally(poll);
    }, pollInterval);
    timer.unref();
  };
  poll();

  return {
    provider: () => inUse().provider,
    signingKeys: () => inUse().jwks,
    keyRows: () => current?.rows ?? [],
    handle: (request, response) => {
      if (current) return current.handle(request, response);
      response.writeHead(503, { 'Content-Type': 'application/json', 'Retry-After': retryAfter });
      response.end('{"error":"temporarily_unavailable","error_description":"the service is starting"}');
    },
    isReady: () => current !== undefined,
    refresh,
    close: () => clearTimeout(timer),
  };
}
