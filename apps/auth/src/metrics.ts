// What do we count, beside what every service does? Tokens by grant and outcome, every audited event, and how old the signing keys are.
// Labels come from small sets: what a client may choose freely is counted as "other".
import type { Metrics } from '@bay-booking/service/metrics';
import { Counter, Gauge } from 'prom-client';
import type { Audit, AuditEvent } from './audit/audit.ts';
import type { KeyRow } from './signing-keys/store.ts';

const grants: ReadonlySet<string> = new Set([
  'authorization_code',
  'client_credentials',
  'password',
  'refresh_token',
  'social_access_token',
]);
const oauthError = /^(access_denied|(invalid|unsupported|unauthorized|slow|temporarily|server|use)_[a-z_]{2,30})$/;

export const boundedError = (error: string): string => (oauthError.test(error) ? error : 'other');

/** The same audit trail, whose events are counted too. */
export function countEvents(audit: Audit, { registry }: Metrics): Audit {
  const events = new Counter({
    name: 'auth_events_total',
    help: 'Audited events, by subject and deed.',
    labelNames: ['kind'],
    registers: [registry],
  });
  const tokens = new Counter({
    name: 'auth_tokens_total',
    help: 'Answers of the token endpoint, by grant type and outcome: issued, or the error of RFC 6749.',
    labelNames: ['grant_type', 'outcome'],
    registers: [registry],
  });
  return {
    ...audit,
    record: (event: AuditEvent): void => {
      events.inc({ kind: event.kind });
      if (event.kind === 'token.issued') tokens.inc({ grant_type: grantOf(event), outcome: 'issued' });
      if (event.kind === 'token.refused') {
        tokens.inc({ grant_type: grantOf(event), outcome: boundedError(String(event.detail?.error)) });
      }
      audit.record(event);
    },
  };
}

function grantOf({ detail }: AuditEvent): string {
  const grant = String(detail?.grantType);
  return grants.has(grant) ? grant : 'other';
}

export function observeKeys({ registry }: Metrics, keys: () => readonly KeyRow[]): void {
  new Gauge({
    name: 'signing_key_age_seconds',
    help: 'Seconds since a signing key was made, by algorithm and state.',
    labelNames: ['alg', 'state'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { alg, state, createdAt } of keys()) {
        this.set({ alg, state }, Math.max(0, (Date.now() - createdAt.getTime()) / 1000));
      }
    },
  });
}
