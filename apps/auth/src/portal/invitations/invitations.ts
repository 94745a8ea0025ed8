// Sends, resends and withdraws invitations, and records it in the history of the facility.
import type { Queryable } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import type { Audit } from '../../audit/audit.ts';
import type { Actor } from '../../clients/personal-access-token-store.ts';
import type { AuthConfig } from '../../config.ts';
import type { UsageLimit } from '../../guard/usage-limit.ts';
import type { Mailer } from '../../outbox/mailer.ts';
import { invitationEmail } from './invitation-email.ts';
import type {
  Invitation,
  InvitationChangeError,
  InvitationError,
  InvitationStore,
  NewInvitation,
  SentInvitation,
} from './invitation-store.ts';

interface InvitationsOptions {
  readonly config: Pick<AuthConfig, 'issuer'>;
  readonly invitationStore: InvitationStore;
  readonly audit: Audit;
  readonly logger: Logger;
  readonly mailer: Mailer;
  readonly perFacility: UsageLimit;
  readonly perRecipient: UsageLimit;
}

/** `isMailed` is false if the invitation was stored, but its e-mail could not be queued. */
type SendResult<E> = { readonly isMailed: boolean } | { readonly error: E } | { readonly waitSeconds: number };

export function createInvitations(options: InvitationsOptions) {
  const { config, invitationStore: store, audit, logger, mailer, perFacility, perRecipient } = options;

  const record = (kind: string, { facilityId, email, role, id }: Invitation, actor: Actor): void =>
    audit.record({ kind, ...actor, facilityId, detail: { email, role, invitation: id } });

  const enqueueEmail = async (invitation: SentInvitation, { accountId }: Actor): Promise<boolean> => {
    try {
      await mailer.enqueue({ ...invitationEmail(invitation, config.issuer), accountId });
      return true;
    } catch (err) {
      logger.error({ err, invitationId: invitation.id }, 'invitation e-mail not queued');
      return false;
    }
  };

  /** Counts an e-mail. Returns the seconds to wait if there were too many. */
  const useLimits = async (facilityId: string, email: string, on?: Queryable): Promise<number> =>
    Math.max(await perFacility.use(facilityId, on), await perRecipient.use(email, on));

  const sendWithinLimits = async <E>(
    { facilityId, email }: Pick<Invitation, 'facilityId' | 'email'>,
    actor: Actor,
    kind: string,
    change: () => Promise<{ sent: SentInvitation } | { error: E }>,
  ): Promise<SendResult<E>> => {
    const waitSeconds = await useLimits(facilityId, email);
    if (waitSeconds > 0) return { waitSeconds };
    const outcome = await change();
    if ('error' in outcome) return outcome;
    record(kind, outcome.sent, actor);
    return { isMailed: await enqueueEmail(outcome.sent, actor) };
  };

  return {
    useLimits,

    /** For operators. The transaction stores the e-mail too, and records the change. */
    async inviteOwner(tx: Queryable, facilityId: string, email: string) {
      const outcome = await store.createForOwner(tx, facilityId, email);
      if ('error' in outcome) return outcome;
      await mailer.enqueue(invitationEmail(outcome.sent, config.issuer), tx);
      return { id: outcome.sent.id };
    },

    invite: (invitation: Omit<NewInvitation, 'actorId'>, actor: Actor): Promise<SendResult<InvitationError>> =>
      sendWithinLimits(invitation, actor, 'invitation.sent', () =>
        store.create({ ...invitation, actorId: actor.accountId }),
      ),

    resend: (invitation: Invitation, actor: Actor): Promise<SendResult<InvitationChangeError>> =>
      sendWithinLimits(invitation, actor, 'invitation.resent', () =>
        store.resend(invitation.facilityId, invitation.id, actor.accountId),
      ),

    async withdraw(invitation: Invitation, actor: Actor) {
      const outcome = await store.withdraw(invitation.facilityId, invitation.id, actor.accountId);
      if ('withdrawn' in outcome) record('invitation.withdrawn', outcome.withdrawn, actor);
      return outcome;
    },
  };
}
