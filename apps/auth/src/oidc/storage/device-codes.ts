// Stores the device code and the user code of the device flow (RFC 8628). Polls, decisions and the exchange are single
// statements, so each has an effect only once. The user's pages find the record by the user code, and refer to it by
// the hash of the device code, which the token endpoint does not accept.
import { type Database, jsonText } from '@bay-booking/service/database/database';
import { hashSecret } from '@bay-booking/service/secret-box';
import { type Adapter, type AdapterPayload, errors, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import { queryOrUnavailable, unavailable } from '../unavailable.ts';
import {
  type ArtifactStore,
  columns,
  placeholders,
  rejectSecondUse,
  usedAt,
  valuesOf,
  withoutSecrets,
} from './artifacts.ts';

/** In seconds. Each poll that is too early adds 5 s (RFC 8628 section 3.5). */
export const pollIntervalSeconds = 5;
/** Timers are not exact. */
const toleranceSeconds = 0.1;
/** `expires_at` is this many seconds after the expiry of the code, so that the device gets `expired_token`. */
const retentionSeconds = 600;

/** The user has not decided, and the code has not expired. */
const pendingCondition = `model = 'DeviceCode' and consumed_at is null and account_id is null
  and payload ->> 'error' is null and expires_at > now() + interval '${retentionSeconds} seconds'`;

/** Finds a code by its hash ($1) and records the poll of its client ($2). `for update` makes concurrent polls wait. */
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
  readonly isValid: boolean;
  readonly isTooEarly: boolean;
  readonly unused: boolean;
  readonly usedAt: number | null;
}

export interface PendingCode {
  /** The hash of the device code. */
  readonly reference: string;
  readonly clientId: string;
  readonly params: Record<string, unknown>;
}

export type DeviceCodes = ReturnType<typeof createDeviceCodes>;

export function createDeviceCodes({ db, artifacts }: { db: Database; artifacts: ArtifactStore }) {
  const create = async (id: string, payload: AdapterPayload, expiresIn = 0): Promise<void> => {
    const rows = await queryOrUnavailable(
      db,
      `insert into oidc_artifact (${columns}) values (${placeholders}) on conflict do nothing returning 1 as done`,
      valuesOf('DeviceCode', id, payload, expiresIn + retentionSeconds),
    );
    // The device can try again, and then gets another code.
    if (rows.length === 0) throw unavailable(new Error('the user code is already in use'));
  };

  const decide = async (reference: string, payload: AdapterPayload): Promise<boolean> => {
    const rows = await queryOrUnavailable(
      db,
      `update oidc_artifact set payload = $2::jsonb, grant_id = $3, account_id = $4
        where id = $1 and ${pendingCondition} returning 1 as done`,
      [reference, jsonText(withoutSecrets('DeviceCode', payload)), payload.grantId ?? null, payload.accountId ?? null],
    );
    return rows.length > 0;
  };

  const findByReference = async (reference: string): Promise<AdapterPayload | undefined> => {
    const [row] = await queryOrUnavailable<{ payload: AdapterPayload; isValid: boolean }>(
      db,
      `select payload, expires_at > now() + interval '${retentionSeconds} seconds' as "isValid"
         from oidc_artifact where model = 'DeviceCode' and id = $1 and expires_at > now()`,
      [reference],
    );
    return row && withExpiry({ ...row.payload, jti: reference }, row.isValid);
  };

  const poll = async (deviceCode: string): Promise<AdapterPayload | undefined> => {
    const clientId = currentContext()?.oidc.client?.clientId ?? null;
    const [row] = await queryOrUnavailable<PolledRow>(db, pollStatement, [hashSecret(deviceCode), clientId]);
    if (!row) return undefined;
    if (row.isTooEarly) throw new errors.SlowDown('wait longer between two polls');
    // An expired code would be reported before a used one.
    const payload = withExpiry({ ...row.payload, jti: deviceCode }, row.isValid || !row.unused);
    return row.usedAt === null ? payload : { ...payload, consumed: Math.floor(row.usedAt) };
  };

  const adapter: Adapter = {
    ...artifacts.adapterFor('DeviceCode'),
    async upsert(id, payload, expiresIn) {
      if (!isUserStep()) return create(id, payload, expiresIn);
      // After any other error of the sign-in, the user can enter the code again.
      if (payload.error !== undefined && payload.error !== 'access_denied') return;
      if (!(await decide(id, payload))) throw new errors.InvalidRequest('the code was used already, or has expired');
    },
    find: (id) => (isUserStep() ? findByReference(id) : poll(id)),
    async consume(id) {
      // Every poll of a denied request gets `access_denied`.
      rejectSecondUse(
        await queryOrUnavailable(
          db,
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

    async findPending(userCode: string): Promise<PendingCode | undefined> {
      const [row] = await queryOrUnavailable<{ id: string; clientId: string; payload: AdapterPayload }>(
        db,
        `select id, client_id as "clientId", payload from oidc_artifact where user_code = $1 and ${pendingCondition}`,
        [userCode],
      );
      return row && { reference: row.id, clientId: row.clientId, params: row.payload.params ?? {} };
    },

    async deny(reference: string): Promise<boolean> {
      const rows = await queryOrUnavailable(
        db,
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

const isUserStep = (): boolean => currentContext()?.oidc.route === 'device_resume';

/** The clock of the database has decided (artifacts.ts). */
const withExpiry = (payload: AdapterPayload, isValid: boolean): AdapterPayload => ({
  ...payload,
  exp: Math.floor(Date.now() / 1000) + (isValid ? 60 : -60),
});
