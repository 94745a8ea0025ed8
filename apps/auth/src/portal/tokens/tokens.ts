// Creates, rotates and revokes the personal access tokens of service accounts. A form that is submitted twice creates
// only one secret. Each change is recorded in the history of every facility where the service account has a role.
import type { Audit } from '../../audit/audit.ts';
import { type Actor, type ClientStore, type NewSecret, TooManyTokensError } from '../../clients/store.ts';
import type { FacilityStore } from '../../facilities/store.ts';
import type { SubmittedForms } from './submitted-form-store.ts';

export const maxActiveTokens = 50;
export const maxTokenDays = 365;
/** The choices of a user who rotates a token: the number of seconds for which the old secret still works. */
export const overlaps = [0, 3_600, 86_400, 7 * 86_400] as const;

export type NewSecretResult =
  | NewSecret
  | { readonly error: 'too-many-tokens' | 'form-already-submitted' | 'not-found' };

export interface TokensOptions {
  readonly clients: ClientStore;
  readonly facilities: Pick<FacilityStore, 'facilityIdsOf'>;
  readonly submittedForms: SubmittedForms;
  readonly audit: Audit;
}

export type Tokens = ReturnType<typeof createTokens>;

/** The actor of each function is the service account that owns the tokens. */
export function createTokens({ clients, facilities, submittedForms, audit }: TokensOptions) {
  const recordChange = async (
    change: 'created' | 'rotated' | 'revoked',
    actor: Actor,
    clientId: string,
    detail: Record<string, string | number>,
  ): Promise<void> => {
    for (const facilityId of await facilities.facilityIdsOf(actor.accountId)) {
      audit.record({ kind: `service-account.token-${change}`, ...actor, clientId, facilityId, detail });
    }
  };

  /** Creates a secret, unless the form was submitted before. After an error, the form can be submitted again. */
  const oncePerForm = async (
    accountId: string,
    formId: string,
    createSecret: () => Promise<NewSecretResult>,
  ): Promise<NewSecretResult> => {
    if (!(await submittedForms.submit(accountId, formId))) return { error: 'form-already-submitted' };
    try {
      const result = await createSecret();
      if ('error' in result) await submittedForms.release(accountId, formId);
      return result;
    } catch (error) {
      // The caller must get this error, even if the release of the form fails too.
      await submittedForms.release(accountId, formId).catch(() => {});
      throw error;
    }
  };

  return {
    create: (
      { name, days, formId }: { name: string; days: number; formId: string },
      actor: Actor,
    ): Promise<NewSecretResult> =>
      oncePerForm(actor.accountId, formId, async () => {
        const expiresAt = new Date(Date.now() + days * 86_400_000);
        const token = { accountId: actor.accountId, name, expiresAt, maxActive: maxActiveTokens };
        try {
          const secret = await clients.createPersonalAccessToken(token, actor);
          await recordChange('created', actor, secret.clientId, { name, days });
          return secret;
        } catch (error) {
          if (error instanceof TooManyTokensError) return { error: 'too-many-tokens' };
          throw error;
        }
      }),

    /** Gives a token a new secret. The old secret still works for `overlapSeconds`. */
    rotate: (
      form: { clientId: string; name: string; overlapSeconds: number; formId: string },
      actor: Actor,
    ): Promise<NewSecretResult> =>
      oncePerForm(actor.accountId, form.formId, async () => {
        const { clientId, name, overlapSeconds } = form;
        const secret = await clients.rotatePersonalAccessToken(actor.accountId, clientId, overlapSeconds, actor);
        if (!secret) return { error: 'not-found' };
        await recordChange('rotated', actor, clientId, { name, overlap: overlapSeconds });
        return secret;
      }),

    /** Returns false if the account has no such active token. */
    async revoke({ clientId, name }: { clientId: string; name: string }, actor: Actor): Promise<boolean> {
      if (!(await clients.revokePersonalAccessToken(actor.accountId, clientId, actor))) return false;
      await recordChange('revoked', actor, clientId, { name });
      return true;
    },
  };
}
