// Writes the e-mails to users, as text and as HTML. Each e-mail contains at most one link.
import { renderEmail } from '../html/render.ts';
import type { Email } from './store.ts';

export interface Recipient {
  readonly to: string;
  readonly name: string | null;
}

export interface EmailContent {
  readonly subject: string;
  readonly paragraphs: readonly string[];
  readonly action?: { readonly text: string; readonly href: string };
  readonly ending: string;
}

type RecipientOfLink = Recipient & { readonly link: string };

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
 * Whether a name may appear in an e-mail. Anybody can register with the e-mail address of somebody else, and choose the
 * name of the account. A name that e-mail programs could turn into a link is therefore left out.
 */
const isSafeInEmail = (name: string): boolean => !/[/:<>@]|\S[.。]\S|\p{C}/iu.test(name);

export const verificationEmail = (recipient: RecipientOfLink): Email =>
  composeEmail(recipient, {
    subject: 'Confirm your e-mail address',
    paragraphs: [
      'Somebody created an account at Bay Booking with this address. Please confirm that the address is yours.',
    ],
    action: { text: 'Confirm my address', href: recipient.link },
    ending:
      'The link works for 24 hours. If you did not create the account, open the link and choose “This was not me”.',
  });

export const passwordResetEmail = (recipient: RecipientOfLink): Email =>
  composeEmail(recipient, {
    subject: 'Choose a new password',
    paragraphs: ['Somebody, probably you, asked to reset the password of your account at Bay Booking.'],
    action: { text: 'Choose a new password', href: recipient.link },
    ending:
      'The link works once and expires after 30 minutes. If you did not ask for it, you can ignore this e-mail. ' +
      'Your password stays the same.',
  });

export const passwordChangedEmail = (recipient: RecipientOfLink): Email =>
  composeEmail(recipient, {
    subject: 'Your password was changed',
    paragraphs: ['The password of your account at Bay Booking was changed, and you were signed out everywhere else.'],
    action: { text: 'It was not me: reset the password', href: recipient.link },
    ending: 'If you changed it yourself, you need not do anything.',
  });

export const socialLinkedEmail = (recipient: RecipientOfLink & { readonly provider: string }): Email =>
  composeEmail(recipient, {
    subject: `${recipient.provider} was added to your account`,
    paragraphs: [
      `A ${recipient.provider} account was added to your account at Bay Booking. It can be used to sign in from now on.`,
    ],
    action: { text: 'It was not me: remove it', href: recipient.link },
    ending: 'If you added it yourself, you need not do anything.',
  });
