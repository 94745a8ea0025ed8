// Stores which of the requested scopes a user granted and declined (specification, "Scopes", rule 3).
import type { ConsentGrants } from '../../oidc/authorization/consent-grants.ts';
import type { ConsentStore } from './consent-store.ts';

export interface ConsentDecision {
  readonly accountId: string;
  readonly clientId: string;
  readonly requested: readonly string[];
  readonly granted: readonly string[];
  readonly grantId: string | undefined;
}

export interface ConsentOptions {
  readonly grants: ConsentGrants;
  readonly store: ConsentStore;
}

/** Returns the id of the new grant. */
export type DecideConsent = (decision: ConsentDecision) => Promise<string>;

/**
 * Every decision creates a new grant, because oidc-provider cannot add a scope to a grant in which it was declined. It
 * also contains the earlier decisions of this session about scopes that the client does not request now.
 */
export const createDecideConsent =
  ({ grants, store }: ConsentOptions): DecideConsent =>
  async ({ accountId, clientId, requested, granted, grantId }) => {
    const owner = { accountId, clientId };
    const wasNotRequested = (scope: string): boolean => !requested.includes(scope);
    const earlier = await grants.find(grantId, owner);
    const allGranted = [...(earlier?.granted.filter(wasNotRequested) ?? []), ...granted];
    const declined = requested.filter((scope) => !granted.includes(scope));
    const allDeclined = [...(earlier?.declined.filter(wasNotRequested) ?? []), ...declined];
    const grantedInOtherSessions = (await store.findScopes(accountId, clientId)).filter(wasNotRequested);
    await store.save(accountId, clientId, [...new Set([...grantedInOtherSessions, ...allGranted])]);
    return grants.create(owner, { granted: allGranted, declined: allDeclined });
  };
