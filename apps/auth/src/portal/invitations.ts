// Inviting, sending again and withdrawing: the change, its mail and its line in the history, within limits that keep a facility from
// flooding a mailbox.
import type { Logger } from '@bay-booking/service/logging';
import type { Audit } from '../audit/audit.ts';
import type { Actor } from '../clients/store.ts';
import type { UsageLimit } from '../guard/usage-limit.ts';
import type { OutboxMailer } from '../mail/outbox-mailer.ts';
import { invitationEmail } from './invitation-email.ts';
import type { Invitation, InvitationStore, InviteRefusal, SentInvitation } from './invitation-store.ts';
import type { InvitableRole } from './rules.ts';

export interface InvitationsOptions {
  readonly store: InvitationStore;
  readonly mailer: OutboxMailer;
  readonly issuer: string;
  readonly perFacility: UsageLimit;
  readonly perRecipient: UsageLimit;
  readonly audit: Audit;
  readonly logger: Logger;
}

/** `mailed` is false when the invitation is there but its mail could not be taken; it can be sent again. */
export type Invited = { readonly mailed: boolean } | { readonly refused: InviteRefusal } | { readonly wait: number };
export type Resent =
  | { readonly mailed: boolean }
  | { readonly refused: 'not-permitted' | 'not-open' }
  | { readonly wait: number };

export type Invitations = ReturnType<typeof createInvitations>;

export function createInvitations(options: InvitationsOptions) {
  const { store, mailer, issuer, perFacility, perRecipient, audit, logger } = options;

  const wait = async (facilityId: string, email: string): Promise<number> =>
    Math.max(await perFacility.use(facilityId), await perRecipient.use(email));

  const mail = async (invitation: SentInvitation): Promise<boolean> => {
    try {
      await mailer.enqueue(invitationEmail(invitation, issuer));
      return true;
    } catch (err) {
      logger.error({ err, invitationId: invitation.id }, 'invitation not mailed');
      return false;
    }
  };

  const note = (kind: string, { facilityId, email, role, id }: Invitation, actor: Actor): void =>
    audit.record({ kind, ...actor, facilityId, detail: { email, role, invitation: id } });

  return {
    async invite(wanted: { facilityId: string; email: string; role: InvitableRole }, actor: Actor): Promise<Invited> {
      const seconds = await wait(wanted.facilityId, wanted.email);
      if (seconds > 0) return { wait: seconds };
      const outcome = await store.create({ ...wanted, actorId: actor.accountId });
      if ('refused' in outcome) return outcome;
      note('invitation.sent', outcome.sent, actor);
      return { mailed: await mail(outcome.sent) };
    },

    async resend(invitation: Invitation, actor: Actor): Promise<Resent> {
      const seconds = await wait(invitation.facilityId, invitation.email);
      if (seconds > 0) return { wait: seconds };
      const outcome = await store.resend(invitation.facilityId, invitation.id, actor.accountId);
      if ('refused' in outcome) return outcome;
      note('invitation.resent', outcome.sent, actor);
      return { mailed: await mail(outcome.sent) };
    },

    async withdraw(invitation: Invitation, actor: Actor): Promise<'withdrawn' | 'not-permitted' | 'not-open'> {
      const outcome = await store.withdraw(invitation.facilityId, invitation.id, actor.accountId);
      if ('refused' in outcome) return outcome.refused;
      note('invitation.withdrawn', outcome.withdrawn, actor);
      return 'withdrawn';
    },
  };
}
