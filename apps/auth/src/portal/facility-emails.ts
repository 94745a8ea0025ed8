// Mails the people concerned about changes at a facility: who changed what, and when (docs/portal.md, "E-mails").
import type { Database, Queryable } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import { emailAddressOf, nameInEmail } from '../accounts/account-emails.ts';
import type { AuditEvent } from '../audit/store.ts';
import type { AuthConfig } from '../config.ts';
import type { UsageLimit } from '../guard/usage-limit.ts';
import { formatTime } from '../html/time-format.ts';
import { isEmailAddress } from '../input/field-rules.ts';
import { accountDeletedEmail, composeEmail, isSafeInEmail } from '../outbox/email-templates.ts';
import type { Mailer } from '../outbox/mailer.ts';
import { describeEvent, nameWithoutAccount } from './facility/event-descriptions.ts';
import {
  type Addressee,
  type EmailContext,
  findEmailContext,
  findRecipients,
  type Recipients,
} from './facility-email-store.ts';

type MailedKind = keyof typeof subjects;

export interface MailedEvent extends AuditEvent {
  readonly kind: MailedKind;
  readonly facilityId: string;
}

export interface FacilityEmailsOptions {
  readonly config: AuthConfig;
  readonly db: Database;
  readonly logger: Logger;
  readonly mailer: Mailer;
  /** Counts the changes of one kind at a facility. Each of them mails its owners. */
  readonly limit: UsageLimit;
  /** Counts how often a facility begins to require a second factor, which mails all its members. */
  readonly factorLimit: UsageLimit;
}

const subjects = {
  'invitation.accepted': (facility: string) => `An invitation to ${facility} was accepted`,
  'personal-access-token.created': (facility: string) => `A token for ${facility} was created`,
  'personal-access-token.revoked': (facility: string) => `A token for ${facility} was revoked`,
  'membership.role-changed': (facility: string) => `Your role at ${facility} was changed`,
  'membership.revoked': (facility: string) => `A role at ${facility} was revoked`,
  'membership.left': (facility: string) => `A member of ${facility} deleted their account`,
  'factor.reset': (facility: string) => `A second factor of a member of ${facility} was reset`,
  'facility.second-factor-required': (facility: string) => `${facility} now requires a second factor`,
} as const;

const setUpFactor = {
  linkText: 'Set up a second factor',
  path: '/account/security',
  ending:
    'A second factor is a passkey or an authenticator app. If you have one already, you do not need to do anything.',
};
const openPortal = {
  linkText: 'Open the portal',
  path: '/portal',
  ending: 'If you do not expect this change, ask an owner of the facility, or change it in the portal if you are one.',
};

export function createFacilityEmails({ config, db, logger, mailer, limit, factorLimit }: FacilityEmailsOptions) {
  const mail = async (
    { kind, facilityId, accountId, detail = {} }: MailedEvent,
    members: Recipients['members'],
    accountIds: readonly string[],
    on: Queryable,
  ): Promise<void> => {
    const waitSeconds = await (members === 'all' ? factorLimit : limit).use(`${facilityId}\n${kind}`, on);
    const context = waitSeconds > 0 ? undefined : await findEmailContext(on, facilityId, accountId);
    if (!context) return;
    const { facility, timeZone } = context;
    const safe = Object.entries(detail).map(([name, value]) => [
      name,
      typeof value === 'string' ? shown(value) : value,
    ]);
    const change = describeEvent({ kind, detail: Object.fromEntries(safe) });
    const paragraph = `${facility}, ${formatTime(new Date(), timeZone).text}: ${actorOf(context, detail)} ${change}.`;
    const { linkText, path, ending } = members === 'all' ? setUpFactor : openPortal;
    const content = { subject: subjects[kind](facility), paragraphs: [paragraph], linkText, ending };
    const recipients = await findRecipients(on, { facilityId, actorId: accountId, members, accountIds });
    for (const recipient of recipients) {
      const to = emailAddressOf(recipient);
      if (!to) continue;
      const email = composeEmail({ to, name: nameInEmail(recipient), link: config.issuer + path }, content);
      await mailer.enqueue({ ...email, accountId }, on);
    }
  };

  /** Never rejects: the change must also succeed if its e-mail cannot be queued. */
  const logFailure = (queueing: Promise<void>, kind: string): Promise<void> =>
    queueing.catch((err: unknown) => logger.error({ err, kind }, 'e-mail about a change was not queued'));

  const send = (
    event: MailedEvent,
    members: Recipients['members'],
    accountIds: readonly string[] = [],
    on: Queryable = db,
  ): Promise<void> => logFailure(mail(event, members, accountIds, on), event.kind);

  return {
    send,

    /** Part of the transaction that deletes the account. */
    async accountDeleted(tx: Queryable, account: Addressee, left: readonly MailedEvent[]): Promise<void> {
      for (const event of left) await send(event, 'owners', [], tx);
      const to = emailAddressOf(account);
      if (!to) return;
      const farewell = accountDeletedEmail({ to, name: null, link: `${config.issuer}/register` }, account.username);
      await logFailure(mailer.enqueue(farewell, tx), 'account.deleted');
    },
  };
}

const actorOf = ({ actor }: EmailContext, detail: NonNullable<AuditEvent['detail']>): string => {
  if (!actor) return nameWithoutAccount(detail) ?? 'The operator of the service';
  const name = nameInEmail(actor);
  return name && isSafeInEmail(name) ? `${name} (${actor.username})` : actor.username;
};

/** Everybody can choose the name of an account or a token. */
const shown = (text: string): string => (isSafeInEmail(text) || isEmailAddress(text) ? text : '(see the portal)');
