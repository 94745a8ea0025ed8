// Writes the e-mail that invites somebody to a facility.
import { roleAbilities } from '../../facilities/roles.ts';
import { formatTime } from '../../html/time-format.ts';
import { composeEmail, isSafeInEmail } from '../../outbox/email-templates.ts';
import type { Email } from '../../outbox/mailer.ts';
import { accountKindFor, type InvitedRole } from '../rules.ts';
import type { SentInvitation } from './invitation-store.ts';

const serviceAccount =
  'This address becomes the user name of a service account, for a program such as a till or a booking site. It can ';
const nextSteps =
  'First, choose a name and a password for the account. Then create a personal access token for the software.';

const subjects: Readonly<Record<InvitedRole, (facility: string) => string>> = {
  'bookings-manager': (facility) => `Connect your software to ${facility}`,
  'facility-manager': (facility) => `Connect your software to ${facility}`,
  owner: (facility) => `Become the owner of ${facility}`,
  staff: (facility) => `Join the staff of ${facility}`,
};

export function invitationEmail(invitation: SentInvitation, issuer: string): Email {
  const { email, role, facilityName, timeZone, invitedBy, expiresAt, token } = invitation;
  const abilities = roleAbilities[role];
  const explanation =
    accountKindFor(role) === 'service'
      ? `${serviceAccount}${abilities}. ${nextSteps}`
      : `As ${role} you can ${abilities}.`;
  // The inviter can choose any name.
  const inviter = invitedBy && isSafeInEmail(invitedBy) ? `${invitedBy} of ${facilityName}` : facilityName;
  return composeEmail(
    { to: email, name: null, link: `${issuer}/portal/invitation?token=${token}` },
    {
      subject: subjects[role](facilityName),
      paragraphs: [`${inviter} invites ${email} to Bay Booking.`, explanation],
      linkText: 'See the invitation',
      ending:
        `The link works once and expires on ${formatTime(expiresAt, timeZone).text}. ` +
        'If you did not expect the invitation, you can ignore this e-mail.',
    },
  );
}
