// Defines the metrics that only auth has. A value that a client can choose freely is counted under the label "other",
// because a client could otherwise create an unlimited number of time series.
import type { Metrics } from '@bay-booking/service/metrics';
import { Counter, Gauge } from 'prom-client';
import type { Audit } from './audit/audit.ts';
import type { AuditEvent } from './audit/store.ts';
import { grantTypes } from './oidc/clients/registered-client.ts';
import type { SigningKey } from './signing-keys/store.ts';

const knownGrantTypes: ReadonlySet<string> = new Set(grantTypes);
/** Matches the error codes of the token endpoint. */
const oauthError =
  /^(access_denied|authorization_pending|expired_token|slow_down|(invalid|unsupported|unauthorized|temporarily|server|use)_[a-z_]{2,30})$/;

export const errorLabel = (error: string): string => (oauthError.test(error) ? error : 'other');

/** Returns an audit trail that records each event in `audit` and counts it. */
export function countEvents(audit: Audit, { registry }: Metrics): Audit {
  const events = new Counter({
    name: 'auth_events_total',
    help: 'Audited events, by kind, such as token.issued.',
    labelNames: ['kind'],
    registers: [registry],
  });
  const tokens = new Counter({
    name: 'auth_tokens_total',
    help: 'Responses of the token endpoint, by grant type and outcome: issued, or the error code of RFC 6749.',
    labelNames: ['grant_type', 'outcome'],
    registers: [registry],
  });
  return {
    ...audit,
    record: (event: AuditEvent): void => {
      events.inc({ kind: event.kind });
      if (event.kind === 'token.issued') tokens.inc({ grant_type: grantTypeLabel(event), outcome: 'issued' });
      if (event.kind === 'token.refused') {
        tokens.inc({ grant_type: grantTypeLabel(event), outcome: errorLabel(String(event.detail?.error)) });
      }
      audit.record(event);
    },
  };
}

function grantTypeLabel({ detail }: AuditEvent): string {
  const grantType = String(detail?.grantType);
  return knownGrantTypes.has(grantType) ? grantType : 'other';
}

/** `keys` returns the keys that are published now. */
export function observeKeys({ registry }: Metrics, keys: () => readonly SigningKey[]): void {
  new Gauge({
    name: 'signing_key_age_seconds',
    help: 'Seconds since a signing key was created, by algorithm and state.',
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
