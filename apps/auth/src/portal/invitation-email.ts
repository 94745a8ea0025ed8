// What does an invitation say by mail? Where to, as what, until when, and the one link.
import { composeEmail } from '../mail/email-templates.ts';
import type { Email } from '../mail/store.ts';
import type { SentInvitation } from './invitation-store.ts';
import { instant } from './time-format.ts';

const asWhat = {
  'bookings-manager':
    'The address becomes the sign-in of a service account: an account for a program, such as a till or a booking site, that sees, makes, changes and cancels the facility’s bookings. Set its name and password first; then create a personal access token for the program.',
  staff:
    'You become staff: you see the facility’s people, and you invite and revoke the service accounts that manage its bookings.',
} as const;

/** A name that cannot pass for an address, which mail programs would make a link of. */
const isPlain = (name: string): boolean => !/[/:<>@]|www\.|\.\p{L}|\p{C}/iu.test(name);

export function invitationEmail(invitation: SentInvitation, issuer: string): Email {
  const { email, role, facilityName, invitedBy, expiresAt, token } = invitation;
  const inviter = invitedBy && isPlain(invitedBy) ? `${invitedBy} of ${facilityName}` : facilityName;
  return composeEmail(
    { to: email, name: '' },
    {
      subject:
        role === 'staff' ? `Join the staff of ${facilityName}` : `Manage the bookings of ${facilityName} by program`,
      paragraphs: [`${inviter} invites ${email} to Bay Booking.`, asWhat[role]],
      action: { text: 'See the invitation', href: `${issuer}/portal/invitation?token=${token}` },
      ending: `The link is good once, until ${instant(expiresAt).text}. If you do not know what this is about, ignore this mail: nothing happens.`,
    },
  );
}
