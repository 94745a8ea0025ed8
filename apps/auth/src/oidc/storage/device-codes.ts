// Stores the two codes of the device flow (RFC 8628). The device polls the token endpoint with the device code. The
// user enters the user code on our page.
//
// Concurrent use: each of these steps is one statement, and the statement has an effect only once.
// - If several polls arrive at the same time, all but one count as too early.
// - Of several decisions about a code, only the first one counts.
// - An approved code can be exchanged for tokens once.
//
// The table contains only a hash of the device code. Our page finds the record by the user code, so the page does not
// know the device code. Until the sign-in has ended, the hash identifies the record (the parameter `reference`). A
// stolen hash cannot be used at the token endpoint, because the endpoint hashes the code that a client sends.
import { type Database, jsonText, query } from '@bay-booking/service/database/database';
import { type Adapter, type AdapterPayload, errors, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import { hashSecret } from '../../secrets.ts';
import { orUnavailable, unavailable } from '../unavailable.ts';
import { columns, placeholders, rejectSecondUse, usedAt, valuesOf, withoutSecrets } from './artifact-row.ts';
import type { ArtifactStore } from './artifacts.ts';

/** The seconds between two polls. Each poll that is too early makes the interval 5 s longer (RFC 8628 section 3.5). */
export const pollIntervalSeconds = 5;
/** The seconds by which a poll may be early, because timers are not exact. */
const toleranceSeconds = 0.1;
/**
 * The seconds for which an expired code is still stored, so that the device gets `expired_token`. The column expires_at
 * contains the expiry of the code plus these seconds.
 */
const retentionSeconds = 600;

/**
 * The SQL condition that the user has neither allowed nor denied the request, and that the code has not expired. A code
 * expires `retentionSeconds` before `expires_at`.
 */
const pendingCondition = `model = 'DeviceCode' and consumed_at is null and account_id is null
  and payload ->> 'error' is null and expires_at > now() + interval '${retentionSeconds} seconds'`;

/**
 * Finds a code by the hash of the device code ($1). If the client $2 owns the code, and the code was not used and has
 * not expired, the statement also records the poll: it stores the interval and the time of the next allowed poll. With
 * `for update`, concurrent polls wait for each other, so each poll sees the time that the previous poll has stored.
 */
const pollStatement = `
  with found as (
    select id, payload, expires_at > now() + interval '${retentionSeconds} seconds' as valid, client_id = $2 as own,
           consumed_at is null as unused, ${usedAt} as used_at,
           coalesce(next_poll_at > clock_timestamp(), false) as early,
           coalesce(poll_interval, ${pollIntervalSeconds}) as interval
      from oidc_artifact where model = 'DeviceCode' and id = $1 and expires_at > now() for update),
  poll as (
    select id, interval + case when early then ${pollIntervalSeconds} else 0 end as interval
      from found where own and valid and unused),
  recorded as (
    update oidc_artifact a
       set poll_interval = p.interval,
           next_poll_at = clock_timestamp() + make_interval(secs => p.interval - ${toleranceSeconds})
      from poll p where a.model = 'DeviceCode' and a.id = p.id)
  select payload, valid as "isValid", own and valid and unused and early as "isTooEarly", unused, used_at as "usedAt"
    from found`;

interface PolledRow {
  readonly payload: AdapterPayload;
  /** Whether the code has not expired. */
  readonly isValid: boolean;
  /** Whether the device polled a pending code again before the polling interval had passed. */
  readonly isTooEarly: boolean;
  readonly unused: boolean;
  readonly usedAt: number | null;
}

export interface PendingCode {
  /**
   * The hash of the device code, which identifies the record. The pages on which the user enters the user code do not
   * know the device code itself.
   */
  readonly reference: string;
  readonly clientId: string;
  readonly params: Record<string, unknown>;
}

export interface DeviceCodeOptions {
  readonly db: Database;
  readonly artifacts: ArtifactStore;
}

export type DeviceCodes = ReturnType<typeof createDeviceCodes>;

export function createDeviceCodes({ db, artifacts }: DeviceCodeOptions) {
  const run = <Row extends object>(sql: string, values: readonly unknown[]) =>
    orUnavailable(() => query<Row>(db, sql, values));

  // oidc-provider always passes `expiresIn`, although it is optional in the type of an adapter.
  const create = async (id: string, payload: AdapterPayload, expiresIn = 0): Promise<void> => {
    const rows = await run(
      `insert into oidc_artifact (${columns}) values (${placeholders}) on conflict do nothing returning 1 as done`,
      valuesOf('DeviceCode', id, payload, expiresIn + retentionSeconds),
    );
    // The device can try again, and then gets another code.
    if (rows.length === 0) throw unavailable(new Error('the user code is already in use'));
  };

  /** Stores the decision of the user. Returns false if the code is no longer pending. */
  const decide = async (reference: string, payload: AdapterPayload): Promise<boolean> => {
    const rows = await run(
      `update oidc_artifact set payload = $2::jsonb, grant_id = $3, account_id = $4
        where id = $1 and ${pendingCondition} returning 1 as done`,
      [reference, jsonText(withoutSecrets('DeviceCode', payload)), payload.grantId ?? null, payload.accountId ?? null],
    );
    return rows.length > 0;
  };

  const findByReference = async (reference: string): Promise<AdapterPayload | undefined> => {
    const [row] = await run<{ payload: AdapterPayload; isValid: boolean }>(
      `select payload, expires_at > now() + interval '${retentionSeconds} seconds' as "isValid"
         from oidc_artifact where model = 'DeviceCode' and id = $1 and expires_at > now()`,
      [reference],
    );
    return row && withExpiry({ ...row.payload, jti: reference }, row.isValid);
  };

  /**
   * Records a poll and returns the payload of the code for oidc-provider.
   * @throws {errors.SlowDown} if the poll came before the interval had passed
   */
  const poll = async (deviceCode: string): Promise<AdapterPayload | undefined> => {
    const clientId = currentContext()?.oidc.client?.clientId ?? null;
    const [row] = await run<PolledRow>(pollStatement, [hashSecret(deviceCode), clientId]);
    if (!row) return undefined;
    if (row.isTooEarly) throw new errors.SlowDown('wait longer between two polls');
    // `withExpiry` gives a used code an `exp` in the future. Otherwise, oidc-provider could report the code as expired
    // before it checks `consumed`.
    const payload = withExpiry({ ...row.payload, jti: deviceCode }, row.isValid || !row.unused);
    return row.usedAt === null ? payload : { ...payload, consumed: Math.floor(row.usedAt) };
  };

  const adapter: Adapter = {
    ...artifacts.adapterFor('DeviceCode'),
    async upsert(id, payload, expiresIn) {
      if (!isUserStep()) return create(id, payload, expiresIn);
      // oidc-provider would store every error of the sign-in, such as a session that has ended. Only the decision of
      // the user is stored here. After any other error, the user can enter the code again.
      if (payload.error !== undefined && payload.error !== 'access_denied') return;
      if (!(await decide(id, payload))) throw new errors.InvalidRequest('the code was used already, or has expired');
    },
    find: (id) => (isUserStep() ? findByReference(id) : poll(id)),
    async consume(id) {
      // The code of a denied request is not marked as used, so that every poll gets `access_denied`.
      rejectSecondUse(
        await run(
          `update oidc_artifact
              set consumed_at = case when payload ->> 'error' is null then clock_timestamp() end
            where model = 'DeviceCode' and id = $1 and consumed_at is null returning 1 as done`,
          [hashSecret(id)],
        ),
      );
    },
  };

  return {
    adapter,

    /** Finds a code that the user can still allow or deny. `userCode` is in upper case and without separators. */
    async findPending(userCode: string): Promise<PendingCode | undefined> {
      const [row] = await run<{ id: string; clientId: string; payload: AdapterPayload }>(
        `select id, client_id as "clientId", payload from oidc_artifact where user_code = $1 and ${pendingCondition}`,
        [userCode],
      );
      return row && { reference: row.id, clientId: row.clientId, params: row.payload.params ?? {} };
    },

    /** Stores that the user has denied the request. Returns false if the code is no longer pending. */
    async deny(reference: string): Promise<boolean> {
      const rows = await run(
        `update oidc_artifact
            set payload = payload || '{"error": "access_denied", "errorDescription": "the user denied the request"}'
          where id = $1 and ${pendingCondition} returning 1 as done`,
        [reference],
      );
      return rows.length > 0;
    },
  };
}

const currentContext = (): KoaContextWithOIDC | undefined => Provider.ctx as KoaContextWithOIDC | undefined;

/** Whether oidc-provider handles the sign-in of a user, and not a request of the device. */
const isUserStep = (): boolean => currentContext()?.oidc.route === 'device_resume';

/**
 * Sets `exp` to a time in the future if the code is valid, and to a time in the past otherwise. The caller has decided
 * with the clock of the database whether the code is valid (artifact-row.ts explains why).
 */
const withExpiry = (payload: AdapterPayload, isValid: boolean): AdapterPayload => ({
  ...payload,
  // oidc-provider only compares `exp` with the current time, so a minute before or after this time is enough.
  exp: Math.floor(Date.now() / 1000) + (isValid ? 60 : -60),
});
