// What do our mails say? Plain words and one link each, as text and as HTML; nothing secret but the link itself.
import { renderMail } from '../html/render.ts';
import type { Mail } from './store.ts';

interface Letter {
  readonly to: string;
  readonly name: string;
}

interface Wording {
  readonly subject: string;
  readonly paragraphs: readonly string[];
  readonly action?: { readonly text: string; readonly href: string };
  readonly ending: string;
}

export function composeEmail({ to, name }: Letter, { subject, paragraphs, action, ending }: Wording): Mail {
  // Whoever registers chooses the name: no address in it becomes a link in somebody else's mail.
  const greeting = /[/:<>]|www\.|\p{C}/iu.test(name) || name === '' ? 'Hello,' : `Hello ${name},`;
  const text = [greeting, ...paragraphs, ...(action ? [`${action.text}:\n${action.href}`] : []), ending, 'Bay Booking'];
  return {
    to,
    subject,
    text: `${text.join('\n\n')}\n`,
    html: renderMail({ subject, greeting, paragraphs, action, ending }),
  };
}

export const verificationEmail = (letter: Letter & { link: string }): Mail =>
  composeEmail(letter, {
    subject: 'Confirm your e-mail address',
    paragraphs: ['This address was used to create an account at Bay Booking. Confirm that it is yours.'],
    action: { text: 'Confirm my address', href: letter.link },
    ending: 'The link is good for 24 hours. If you did not create the account, you can ignore this mail.',
  });

export const passwordResetEmail = (letter: Letter & { link: string }): Mail =>
  composeEmail(letter, {
    subject: 'Choose a new password',
    paragraphs: ['Somebody, probably you, asked to reset the password of your account at Bay Booking.'],
    action: { text: 'Choose a new password', href: letter.link },
    ending:
      'The link is good once and for 30 minutes. If it was not you, ignore this mail: your password stays as it is.',
  });

export const passwordChangedEmail = (letter: Letter & { link: string }): Mail =>
  composeEmail(letter, {
    subject: 'Your password was changed',
    paragraphs: ['The password of your account at Bay Booking was changed, and you were signed out everywhere else.'],
    action: { text: 'It was not me: reset the password', href: letter.link },
    ending: 'If it was you, there is nothing left to do.',
  });
