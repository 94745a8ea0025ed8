// Sends logout tokens to clients of ended sessions (docs/behaviour-auth.md, "Back-channel logout"). Tokens wait in a
// queue, so that users do not wait for clients and the import command can end sessions. A token is never sent again.

import { startLoop } from '@bay-booking/service/periodic';
import type { Stores } from '../services.ts';
import { type QueuedLogout, takeQueuedLogouts } from './store.ts';

/** The outcome `not_registered` means that the client is disabled, deleted or has no logout URL any more. */
export const logoutOutcomes = [
  'sent',
  'rejected',
  'address_not_allowed',
  'timeout',
  'failed',
  'not_registered',
  'expired',
] as const;
export type LogoutOutcome = (typeof logoutOutcomes)[number];

export interface LogoutResult {
  readonly outcome: LogoutOutcome;
  readonly status?: number;
  /** The error code of a failed connection, such as `ECONNREFUSED`. */
  readonly reason?: string | undefined;
}

export type SendLogoutToken = (logout: QueuedLogout) => Promise<LogoutResult>;

const checkIntervalMs = 1_000;
const maxParallel = 200;
/** A client that does not respond must not delay the tokens of other clients. */
const maxParallelPerClient = 10;
/** After an hour, the user has probably signed in again. A token that has no `sid` would end the new session too. */
const maxAgeSeconds = 3_600;

export function createLogoutSender({ db, audit, logger }: Stores, send: SendLogoutToken, isReady: () => boolean) {
  const inProgress = new Set<Promise<void>>();
  const inProgressByClient = new Map<string, number>();

  const deliver = async (logout: QueuedLogout): Promise<void> => {
    const { clientId, accountId, ageSeconds } = logout;
    const result: LogoutResult = ageSeconds > maxAgeSeconds ? { outcome: 'expired' } : await send(logout);
    audit.record({
      kind: result.outcome === 'sent' ? 'logout-token.sent' : 'logout-token.failed',
      clientId,
      accountId,
      detail: { ...result },
    });
  };

  const start = (logout: QueuedLogout): void => {
    const { clientId } = logout;
    inProgressByClient.set(clientId, (inProgressByClient.get(clientId) ?? 0) + 1);
    const delivery = deliver(logout).finally(() => {
      inProgress.delete(delivery);
      const left = (inProgressByClient.get(clientId) ?? 1) - 1;
      if (left > 0) inProgressByClient.set(clientId, left);
      else inProgressByClient.delete(clientId);
      sendQueued();
    });
    inProgress.add(delivery);
  };

  const takeAndStart = async (): Promise<void> => {
    const limit = maxParallel - inProgress.size;
    if (limit <= 0 || !isReady()) return;
    const isBusy = (clientId: string) => (inProgressByClient.get(clientId) ?? 0) >= maxParallelPerClient;
    const except = [...inProgressByClient.keys()].filter(isBusy);
    for (const logout of await takeQueuedLogouts(db, { limit, maxPerClient: maxParallelPerClient, except }))
      start(logout);
  };

  const loop = startLoop({ name: 'send logout tokens', intervalMs: checkIntervalMs, logger, run: takeAndStart });
  const sendQueued = (): void => void loop.wake();

  return {
    sendQueued,
    waitUntilIdle: async () => {
      await loop.wake();
      while (inProgress.size > 0) {
        await Promise.all(inProgress);
        await loop.wake();
      }
    },
    close: async () => {
      await loop.stop();
      await Promise.all(inProgress);
    },
  };
}
