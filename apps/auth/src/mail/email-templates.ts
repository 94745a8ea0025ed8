// Writes the e-mails to users, as text and as HTML.
import { renderEmail } from '../html/render.ts';
import type { Email } from './store.ts';

export interface Recipient {
  readonly to: string;
  readonly name: string | null;
}

/** Each e-mail has at most one link, its `action`. */
export interface EmailContent {
  readonly subject: string;
  readonly paragraphs: readonly string[];
  readonly action?: { readonly text: string; readonly href: string };
  readonly ending: string;
}

export function composeEmail({ to, name }: Recipient, { subject, paragraphs, action, ending }: EmailContent): Email {
  const greeting = name && isSafeInEmail(name) ? `Hello ${name},` : 'Hello,';
  const text = [greeting, ...paragraphs, ...(action ? [`${action.text}:\n${action.href}`] : []), ending, 'Bay Booking'];
  return {
    to,
    subject,
    text: `${text.join('\n\n')}\n`,
    html: renderEmail({ subject, greeting, paragraphs, action, ending }),
  };
}

/**
 * Whether an e-mail may contain the name of an account. Anybody can register with the e-mail address of somebody else,
 * and choose any name. A name that an e-mail program could turn into a link is therefore left out: a name with a
 * character of addresses, with a dot between other characters, or with an invisible character.
 */
export const isSafeInEmail = (name: string): boolean => !/[/:<>@]|www\.|\S[.。]\S|\p{C}/iu.test(name);

interface RecipientOfLink extends Recipient {
  readonly link: string;
}

export const verificationEmail = ({ link, ...recipient }: RecipientOfLink): Email =>
  composeEmail(recipient, {
    subject: 'Confirm your e-mail address',
    paragraphs: [
      'Somebody created an account at Bay Booking with this address. Please confirm that the address is yours.',
    ],
    action: { text: 'Confirm my address', href: link },
    ending:
      'The link works for 24 hours. If you did not create the account, open the link and choose “This was not me”.',
  });

export const passwordResetEmail = ({ link, ...recipient }: RecipientOfLink): Email =>
  composeEmail(recipient, {
    subject: 'Choose a new password',
    paragraphs: ['Somebody, probably you, asked to reset the password of your account at Bay Booking.'],
    action: { text: 'Choose a new password', href: link },
    ending:
      'The link works once and expires after 30 minutes. If you did not ask for it, you can ignore this e-mail. ' +
      'Your password then stays the same.',
  });

/** Writes an e-mail about a change of the account. With the link, the owner can undo a change by somebody else. */
const changeEmail = (
  { link, ...recipient }: RecipientOfLink,
  subject: string,
  paragraph: string,
  undoText: string,
): Email =>
  composeEmail(recipient, {
    subject,
    paragraphs: [paragraph],
    action: { text: `It was not me: ${undoText}`, href: link },
    ending: 'If you made this change yourself, you do not need to do anything.',
  });

export const passwordChangedEmail = (recipient: RecipientOfLink): Email =>
  changeEmail(
    recipient,
    'Your password was changed',
    'The password of your account at Bay Booking was changed, and you were signed out everywhere else.',
    'reset the password',
  );

export const socialLinkedEmail = ({ provider, ...recipient }: RecipientOfLink & { readonly provider: string }): Email =>
  changeEmail(
    recipient,
    `${provider} was added to your account`,
    `Somebody added a ${provider} account to your account at Bay Booking, and can now sign in with it.`,
    `remove ${provider}`,
  );
