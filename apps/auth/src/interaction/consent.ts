// Stores which of the requested scopes a user granted and declined (specification, "Scopes", rule 3).
import type { ConsentGrants } from '../oidc/consent-grants.ts';
import type { ConsentStore } from './consent-store.ts';

export interface ConsentDecision {
  readonly accountId: string;
  readonly clientId: string;
  readonly requested: readonly string[];
  readonly granted: readonly string[];
  /** The grant that the client has had in this session until now. Undefined if it has none. */
  readonly grantId: string | undefined;
}

export interface ConsentOptions {
  readonly grants: ConsentGrants;
  readonly store: ConsentStore;
}

/** Stores the decision and returns the id of the new grant. */
export type DecideConsent = (decision: ConsentDecision) => Promise<string>;

/**
 * Every decision creates a new grant, because a scope that was declined in a grant of oidc-provider cannot be granted
 * in the same grant later. The new grant also contains the earlier decisions of this session about other scopes.
 *
 * The consent store, in contrast, collects the scopes that the user granted in all sessions. Only the page "Your
 * account" uses it.
 */
export const createDecideConsent =
  ({ grants, store }: ConsentOptions): DecideConsent =>
  async ({ accountId, clientId, requested, granted, grantId }) => {
    const owner = { accountId, clientId };
    const isOther = (scope: string): boolean => !requested.includes(scope);
    const before = await grants.find(grantId, owner);
    const allGranted = [...(before?.granted.filter(isOther) ?? []), ...granted];
    const declined = requested.filter((scope) => !granted.includes(scope));
    const allDeclined = [...(before?.declined.filter(isOther) ?? []), ...declined];
    const inOtherSessions = (await store.findScopes(accountId, clientId)).filter(isOther);
    await store.save(accountId, clientId, [...new Set([...inOtherSessions, ...allGranted])]);
    return grants.create(owner, { granted: allGranted, declined: allDeclined });
  };
