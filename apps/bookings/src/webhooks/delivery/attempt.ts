// Sends a delivery to its receiver once: signs the request, says in a few words why an attempt got no response, and
// decides when a failed delivery is attempted again (docs/behaviour.md, "Webhooks").
import { createHmac } from 'node:crypto';
import type { Logger } from '@bay-booking/service/logging';
import { AddressNotAllowed, type OutboundClient } from '@bay-booking/service/outbound';
import type { SecretBox } from '@bay-booking/service/secret-box';
import type { AttemptResult, LeasedDelivery } from './delivery-store.ts';

/**
 * Must be shorter than the lease of a delivery (delivery-store.ts), after which another instance may attempt the
 * delivery.
 */
const attemptTimeoutMilliseconds = 15_000;

export interface AttemptOptions {
  readonly secretBox: SecretBox;
  readonly outbound: Pick<OutboundClient, 'request'>;
  readonly logger: Logger;
  readonly now: () => Date;
}

/** Any status from 200 to 299 is a success. */
export async function attempt(delivery: LeasedDelivery, options: AttemptOptions): Promise<AttemptResult> {
  const { outbound, secretBox, logger, now } = options;
  const { id, webhookId, body, url, secret, previousSecret } = delivery;
  const attemptedAt = now();
  const secrets = [secret, previousSecret].filter((text) => text !== null);
  const decrypted = secrets.map((text) => secretBox.decrypt(text, webhookId));
  const headers = signedHeaders({ id, body, attemptedAt }, decrypted);
  const attempts = delivery.attempts + 1;
  let status: number | null = null;
  let error: string | null = null;
  let retryAfter: string | undefined;
  try {
    const response = await outbound.request(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'User-Agent': 'BayBooking-Webhooks', ...headers },
      body,
      timeout: attemptTimeoutMilliseconds,
      // Only the status and the header Retry-After are needed.
      maxBytes: 0,
    });
    status = response.status;
    retryAfter = response.headers['retry-after'];
  } catch (err) {
    error = failureReason(err);
    logger.info({ err, webhook: webhookId, delivery: id }, 'webhook receiver not reached');
  }
  const result = { id, webhookId, attempts, status, error, attemptedAt };
  if (status !== null && status >= 200 && status < 300)
    return { ...result, state: 'delivered', nextAttemptAt: undefined };
  const next = nextAttemptAt(attempts, now(), retryAfter);
  return { ...result, state: next ? 'pending' : 'failed', nextAttemptAt: next };
}

/**
 * Returns the headers that identify and sign a message (Standard Webhooks, https://www.standardwebhooks.com).
 * They contain one signature for each secret.
 */
function signedHeaders(
  { id, body, attemptedAt }: { readonly id: string; readonly body: string; readonly attemptedAt: Date },
  secrets: readonly string[],
) {
  const timestamp = String(Math.floor(attemptedAt.getTime() / 1000));
  const signatureOf = (secret: string): string => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  };
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map(signatureOf).join(' '),
  };
}

/** By the code of the error. Codes that begin with HPE_ are those of the HTTP parser. */
const reasons: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^ECONNREFUSED$/, 'connection refused'],
  [/^(ECONNRESET|EPIPE)$/, 'connection closed'],
  [/^ETIMEDOUT$/, 'timeout'],
  [/^(ENOTFOUND|EAI_\w+)$/, 'name not found'],
  [/^E(HOST|NET)(UNREACH|DOWN)$/, 'host unreachable'],
  [/^HPE_/, 'invalid response'],
  [/CERT|SIGNATURE|ERR_TLS_|ERR_SSL_|^EPROTO$/, 'TLS error'],
];

function failureReason(error: unknown): string {
  if (error instanceof AddressNotAllowed) return 'address not allowed';
  const { name, code } = error as { readonly name?: string; readonly code?: unknown };
  if (name === 'TimeoutError' || name === 'AbortError') return 'timeout';
  return reasons.find(([pattern]) => pattern.test(String(code)))?.[1] ?? 'no response';
}

/** Durations are in milliseconds. */
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** The delays after the first, second, third … failed attempt. */
const delays = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
] as const;

/** Each delay varies by this share, so that not all deliveries are attempted again at the same time. */
const jitter = 0.1;

/** A webhook is disabled when all its attempts have failed for this time. */
export const maxFailingTime = 5 * day;

/**
 * Returns the time of the next attempt, or undefined after the last one. `attempts` is the number of failed attempts.
 * `retryAfter` is the header `Retry-After` of the last response. The header can make a delay longer, up to a day, but
 * not shorter.
 */
function nextAttemptAt(attempts: number, now: Date, retryAfter?: string): Date | undefined {
  const delay = delays[attempts - 1];
  if (delay === undefined) return undefined;
  const variedDelay = delay * (1 - jitter + 2 * jitter * Math.random());
  const requestedDelay = Math.min(retryAfterMilliseconds(retryAfter, now), day);
  return new Date(now.getTime() + Math.max(variedDelay, requestedDelay));
}

/** Parses both forms of Retry-After: seconds, or a date (RFC 9110 section 10.2.3). Returns 0 for any other value. */
function retryAfterMilliseconds(value: string | undefined, now: Date): number {
  if (value === undefined) return 0;
  if (/^\d+$/.test(value)) return Number(value) * second;
  const date = Date.parse(value);
  return Number.isNaN(date) ? 0 : Math.max(date - now.getTime(), 0);
}
