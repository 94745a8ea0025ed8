// Creates and rotates the personal access tokens of service accounts. A form that is submitted twice creates only one
// secret.
import { type Actor, type ClientStore, type NewSecret, TooManyTokensError } from '../../clients/store.ts';
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
  readonly submittedForms: SubmittedForms;
}

export type Tokens = ReturnType<typeof createTokens>;

/** The actor of each function is the service account that owns the tokens. */
export function createTokens({ clients, submittedForms }: TokensOptions) {
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
          return await clients.createPersonalAccessToken(token, actor);
        } catch (error) {
          if (error instanceof TooManyTokensError) return { error: 'too-many-tokens' };
          throw error;
        }
      }),

    /** The old secret still works for `overlapSeconds`. */
    rotate: (
      { clientId, overlapSeconds, formId }: { clientId: string; overlapSeconds: number; formId: string },
      actor: Actor,
    ): Promise<NewSecretResult> =>
      oncePerForm(actor.accountId, formId, async () => {
        const secret = await clients.rotatePersonalAccessToken(actor.accountId, clientId, overlapSeconds, actor);
        return secret ?? { error: 'not-found' };
      }),
  };
}
