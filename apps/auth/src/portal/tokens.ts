// Personal access tokens as the portal changes them: the change in clients/store.ts, each form at most once, and a line in the history of
// every facility that the service account works for.

import type { Account } from '../accounts/store.ts';
import type { Audit } from '../audit/audit.ts';
import { type Actor, type ClientStore, type NewSecret, TooManyTokensError } from '../clients/store.ts';
import type { FacilityStore } from '../facilities/store.ts';
import type { UsedForms } from './used-form-store.ts';

export const liveTokensAtMost = 50;
export const longestLife = 365;
/** Seconds that the old secret may go on beside the new one. */
export const overlaps = [0, 3_600, 86_400, 7 * 86_400] as const;

export type Made = NewSecret | { readonly refused: 'too-many' | 'sent-before' | 'gone' };

export interface TokensOptions {
  readonly clients: ClientStore;
  readonly facilities: Pick<FacilityStore, 'facilityIdsOf'>;
  readonly usedForms: UsedForms;
  readonly audit: Audit;
}

export type Tokens = ReturnType<typeof createTokens>;

export function createTokens({ clients, facilities, usedForms, audit }: TokensOptions) {
  const note = async (
    deed: 'created' | 'rotated' | 'revoked',
    actor: Actor,
    clientId: string,
    detail: Record<string, string | number>,
  ): Promise<void> => {
    for (const facilityId of await facilities.facilityIdsOf(actor.accountId)) {
      audit.record({ kind: `service-account.token-${deed}`, ...actor, clientId, facilityId, detail });
    }
  };

  const once = async (accountId: string, formId: string, work: () => Promise<Made>): Promise<Made> => {
    if (!(await usedForms.use(accountId, formId))) return { refused: 'sent-before' };
    try {
      const made = await work();
      if ('refused' in made) await usedForms.giveBack(accountId, formId);
      return made;
    } catch (error) {
      await usedForms.giveBack(accountId, formId).catch(() => {});
      throw error;
    }
  };

  return {
    create: (
      account: Account,
      { name, days, formId }: { name: string; days: number; formId: string },
      actor: Actor,
    ): Promise<Made> =>
      once(account.id, formId, async () => {
        const expiresAt = new Date(Date.now() + days * 86_400_000);
        try {
          const made = await clients.createPersonalAccessToken(
            { accountId: account.id, name, expiresAt, maxActive: liveTokensAtMost },
            actor,
          );
          await note('created', actor, made.clientId, { name, days });
          return made;
        } catch (error) {
          if (error instanceof TooManyTokensError) return { refused: 'too-many' };
          throw error;
        }
      }),

    rotate: (
      account: Account,
      { clientId, name, overlap, formId }: { clientId: string; name: string; overlap: number; formId: string },
      actor: Actor,
    ): Promise<Made> =>
      once(account.id, formId, async () => {
        const made = await clients.rotatePersonalAccessToken(account.id, clientId, overlap, actor);
        if (!made) return { refused: 'gone' };
        await note('rotated', actor, clientId, { name, overlap });
        return made;
      }),

    async revoke(
      account: Account,
      { clientId, name }: { clientId: string; name: string },
      actor: Actor,
    ): Promise<boolean> {
      if (!(await clients.revokePersonalAccessToken(account.id, clientId, actor))) return false;
      await note('revoked', actor, clientId, { name });
      return true;
    },
  };
}
