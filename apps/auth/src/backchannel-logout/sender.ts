// Sends logout tokens to the clients of ended sessions (docs/behaviour.md, "Back-channel logout").
//
// The tokens wait in a queue in the database, for two reasons. A user who signs out does not wait for the clients. And
// the import command, which can end sessions, can queue tokens without sending them.
//
// The instance that ended a session sends its tokens immediately. In addition, every instance checks the queue every
// second. A token is never sent again, even if the client does not accept it.
import type { Logger } from '@bay-booking/service/logging';
import { startLoop } from '@bay-booking/service/periodic';
import type { Audit } from '../audit/audit.ts';
import type { LogoutStore, QueuedLogout } from './store.ts';

/** The outcome of one logout token, as the audit trail and the metrics name it. */
export type LogoutOutcome =
  | 'sent'
  /** The client responded with a status other than 200 and 204. */
  | 'rejected'
  /** The logout address of the client is neither in the public internet nor in an allowed network. */
  | 'address_not_allowed'
  | 'timeout'
  /** The connection failed, or the token could not be created. */
  | 'failed'
  /** The client is disabled, deleted, or no longer has a logout address. */
  | 'not_registered'
  /** No instance could send the token within an hour. */
  | 'expired';

export interface LogoutResult {
  readonly outcome: LogoutOutcome;
  readonly status?: number;
  /** The error code of a failed connection, such as `ECONNREFUSED`. */
  readonly reason?: string | undefined;
}

/** Sends one logout token and never throws. */
export type SendLogoutToken = (logout: QueuedLogout) => Promise<LogoutResult>;

export interface LogoutSenderOptions {
  readonly store: LogoutStore;
  readonly send: SendLogoutToken;
  /** Whether the signing keys are loaded. */
  readonly isReady: () => boolean;
  readonly audit: Audit;
  readonly logger: Logger;
}

export interface LogoutSender {
  /** Starts to send the tokens that are in the queue now, and does not wait for them. */
  readonly sendQueued: () => void;
  readonly waitUntilIdle: () => Promise<void>;
  /** Takes no more tokens from the queue, and waits for the tokens that are being sent. */
  readonly close: () => Promise<void>;
}

/** The milliseconds between two checks of the queue. */
const checkIntervalMs = 1_000;
/** The maximum number of tokens that this instance sends at the same time. */
const maxParallel = 200;
/**
 * The maximum number of tokens of one client that are taken from the queue at a time. While this many tokens are being
 * sent to the client, no more are taken. A client that does not respond therefore does not delay other clients' tokens.
 */
const maxParallelPerClient = 10;
/**
 * The maximum age of a token in seconds. An older token is not sent, because the user has probably signed in again. A
 * token that names only the user, and not the session, would also end the new session.
 */
const maxAgeSeconds = 3_600;

export function createLogoutSender({ store, send, isReady, audit, logger }: LogoutSenderOptions): LogoutSender {
  const inProgress = new Set<Promise<void>>();
  /** The number of tokens that are being sent to each client, by client id. */
  const inProgressByClient = new Map<string, number>();

  const deliver = async (logout: QueuedLogout): Promise<void> => {
    const { clientId, accountId, ageSeconds } = logout;
    const result: LogoutResult = ageSeconds > maxAgeSeconds ? { outcome: 'expired' } : await send(logout);
    audit.record({
      kind: result.outcome === 'sent' ? 'logout-token.sent' : 'logout-token.failed',
      clientId,
      accountId,
      // TypeScript accepts an object literal as `detail`, but not an object whose type is an interface.
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
    for (const logout of await store.take({ limit, maxPerClient: maxParallelPerClient, except })) start(logout);
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
