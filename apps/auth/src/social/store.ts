// Stores the sign-ins at a social provider that are not finished yet (table `social_attempt`).
import { type Database, query, queryOne } from '@bay-booking/service/database/database';
import { hashSecret } from '@bay-booking/service/secret-box';

/** The purpose of a flow. Exactly one of the first three fields is not null. */
export interface FlowPurpose {
  /** The interaction of the authorization request. */
  readonly interactionUid: string | null;
  /** The path of this site that the user returns to, if the user signs in without a client. */
  readonly returnTo: string | null;
  /** The account of a signed-in user who adds this way to sign in. */
  readonly linkAccountId: string | null;
  /** The account of a signed-in user who confirms the sign-in. */
  readonly confirmAccountId: string | null;
}

/** The fields of the purposes that a flow does not have. */
export const otherPurposes: FlowPurpose = {
  interactionUid: null,
  returnTo: null,
  linkAccountId: null,
  confirmAccountId: null,
};

export interface PendingFlow extends FlowPurpose {
  readonly provider: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** `age` is the number of seconds since the flow began. */
export type ConsumedFlow = PendingFlow & { readonly age: number };

/** An interaction of oidc-provider has the same lifetime. */
const lifetimeSeconds = 3600;

export function createSocialStore({ db }: { db: Database }) {
  return {
    async add(state: string, browserSecret: string, flow: PendingFlow): Promise<void> {
      await query(
        db,
        `insert into social_attempt (state_sha256, browser_sha256, provider, nonce, code_verifier, interaction_uid,
                                     return_to, link_account_id, confirm_account_id, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, now() + make_interval(secs => ${lifetimeSeconds}))`,
        [
          hashSecret(state),
          hashSecret(browserSecret),
          flow.provider,
          flow.nonce,
          flow.codeVerifier,
          flow.interactionUid,
          flow.returnTo,
          flow.linkAccountId,
          flow.confirmAccountId,
        ],
      );
    },

    /** Deletes the flow, so that nobody can finish it twice. Only the browser that began it has `browserSecret`. */
    consume: (state: string, browserSecret: string, provider: string) =>
      queryOne<ConsumedFlow>(
        db,
        `delete from social_attempt
          where state_sha256 = $1 and browser_sha256 = $2 and provider = $3 and expires_at > now()
         returning provider, nonce, code_verifier as "codeVerifier", interaction_uid as "interactionUid",
                   return_to as "returnTo", link_account_id as "linkAccountId",
                   confirm_account_id as "confirmAccountId",
                   ceil(extract(epoch from now() - expires_at) + ${lifetimeSeconds})::int as age`,
        [hashSecret(state), hashSecret(browserSecret), provider],
      ),
  };
}
