// Reads and writes the sign-ins at social providers that are not finished yet (table `social_attempt`).
import { type Database, query } from '@bay-booking/service/database/database';
import { hashSecret } from '../secrets.ts';

/** What happens after the user has signed in at the provider. Exactly one of the three is not null. */
export interface FlowPurpose {
  /** The sign-in belongs to this interaction, which is part of an authorization request. */
  readonly interactionUid: string | null;
  /** The user signs in directly on this site and then returns to this path. */
  readonly returnTo: string | null;
  /** The identity is linked to this account, whose user is signed in already. */
  readonly linkAccountId: string | null;
}

export interface PendingFlow extends FlowPurpose {
  readonly provider: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

export type SocialStore = ReturnType<typeof createSocialStore>;

/** Seconds; as long as an interaction. */
const lifetime = 3600;

export function createSocialStore({ db }: { db: Database }) {
  return {
    async add(state: string, browserSecret: string, flow: PendingFlow): Promise<void> {
      await query(
        db,
        `insert into social_attempt (state_sha256, browser_sha256, provider, nonce, code_verifier, interaction_uid,
                                     return_to, link_account_id, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, now() + make_interval(secs => ${lifetime}))`,
        [
          hashSecret(state),
          hashSecret(browserSecret),
          flow.provider,
          flow.nonce,
          flow.codeVerifier,
          flow.interactionUid,
          flow.returnTo,
          flow.linkAccountId,
        ],
      );
    },

    /** Returns the flow and deletes it, so that a callback works once and only in the browser that began the flow. */
    async consume(state: string, browserSecret: string, provider: string): Promise<PendingFlow | undefined> {
      const [flow] = await query<PendingFlow>(
        db,
        `delete from social_attempt
          where state_sha256 = $1 and browser_sha256 = $2 and provider = $3 and expires_at > now()
         returning provider, nonce, code_verifier as "codeVerifier", interaction_uid as "interactionUid",
                   return_to as "returnTo", link_account_id as "linkAccountId"`,
        [hashSecret(state), hashSecret(browserSecret), provider],
      );
      return flow;
    },
  };
}
