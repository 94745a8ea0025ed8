// Which trips to a social provider are under way? The SQL of social_attempt: each is read once, and only by the browser that set out.
import { type Database, query } from '@bay-booking/service/database/database';
import { hashSecret } from '../secrets.ts';

export interface Attempt {
  readonly provider: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  /** Where it began: an authorization request, or a page of ours to come back to. */
  readonly interactionUid: string | null;
  readonly returnTo: string | null;
  /** To be linked to this account rather than signed in with. */
  readonly linkAccountId: string | null;
}

export type SocialStore = ReturnType<typeof createSocialStore>;

/** Seconds: as long as an interaction. */
const lifetime = 3600;

export function createSocialStore({ db }: { db: Database }) {
  return {
    async begin(secrets: { state: string; browser: string }, attempt: Attempt): Promise<void> {
      await query(
        db,
        `insert into social_attempt (state_sha256, browser_sha256, provider, nonce, code_verifier, interaction_uid, return_to,
                                     link_account_id, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, now() + make_interval(secs => ${lifetime}))`,
        [
          hashSecret(secrets.state),
          hashSecret(secrets.browser),
          attempt.provider,
          attempt.nonce,
          attempt.codeVerifier,
          attempt.interactionUid,
          attempt.returnTo,
          attempt.linkAccountId,
        ],
      );
    },

    async take(secrets: { state: string; browser: string; provider: string }): Promise<Attempt | undefined> {
      const [attempt] = await query<Attempt>(
        db,
        `delete from social_attempt
          where state_sha256 = $1 and browser_sha256 = $2 and provider = $3 and expires_at > now()
         returning provider, nonce, code_verifier as "codeVerifier", interaction_uid as "interactionUid",
                   return_to as "returnTo", link_account_id as "linkAccountId"`,
        [hashSecret(secrets.state), hashSecret(secrets.browser), secrets.provider],
      );
      return attempt;
    },
  };
}
