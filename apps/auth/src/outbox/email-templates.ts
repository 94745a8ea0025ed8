// Writes the e-mails to users, as text and as HTML.
import { renderEmail } from '../html/render.ts';
import { formatTime } from '../html/time-format.ts';
import type { Email } from './mailer.ts';

export interface Recipient {
  readonly to: string;
  readonly name: string | null;
  /** The URL of the only link in the e-mail. */
  readonly link: string;
}

export interface EmailContent {
  readonly subject: string;
  readonly paragraphs: readonly string[];
  readonly linkText: string;
  readonly ending: string;
}

export function composeEmail({ to, name, link }: Recipient, content: EmailContent): Email {
  const { subject, paragraphs, linkText, ending } = content;
  const greeting = name && isSafeInEmail(name) ? `Hello ${name},` : 'Hello,';
  const text = [greeting, ...paragraphs, `${linkText}:\n${link}`, ending, 'Bay Booking'];
  return { to, subject, text: `${text.join('\n\n')}\n`, html: renderEmail({ ...content, greeting, link }) };
}

/**
 * Whether an e-mail may contain the name of an account. Anybody can register with another person's e-mail address, so a
 * name that an e-mail program could turn into a link is left out.
 */
export const isSafeInEmail = (name: string): boolean => !/[/:<>@]|www\.|\S[.。]\S|\p{C}/iu.test(name);

export const verificationEmail = (recipient: Recipient): Email =>
  composeEmail(recipient, {
    subject: 'Confirm your e-mail address',
    paragraphs: [
      'Somebody created an account at Bay Booking with this address. Please confirm that the address is yours.',
    ],
    linkText: 'Confirm my address',
    ending:
      'The link works for 24 hours. If you did not create the account, open the link and choose “This was not me”.',
  });

export const passwordResetEmail = (recipient: Recipient): Email =>
  composeEmail(recipient, {
    subject: 'Choose a new password',
    paragraphs: ['Somebody, probably you, asked to reset the password of your account at Bay Booking.'],
    linkText: 'Choose a new password',
    ending:
      'The link works once and expires after 30 minutes. If you did not ask for it, you can ignore this e-mail. ' +
      'Your password then stays the same.',
  });

export const confirmationCodeEmail = (recipient: Recipient, code: string): Email =>
  composeEmail(recipient, {
    subject: `${code} is your code for Bay Booking`,
    paragraphs: [`Enter the code ${code} to confirm it’s you. It works once and expires after 10 minutes.`],
    linkText: 'This was not me: see where I am signed in',
    ending: 'Never tell anybody this code. We do not ask for it by telephone or e-mail.',
  });

const changeEnding = 'If you made this change yourself, you do not need to do anything.';

export const passwordChangedEmail = (recipient: Recipient): Email =>
  composeEmail(recipient, {
    subject: 'Your password was changed',
    paragraphs: ['The password of your account at Bay Booking was changed, and you were signed out everywhere else.'],
    linkText: 'This was not me: reset the password',
    ending: changeEnding,
  });

/** `change` describes the change, such as `A passkey was added`. */
export const factorChangedEmail = (recipient: Recipient, change: string): Email =>
  composeEmail(recipient, {
    subject: `${change} in your account`,
    paragraphs: [`${change} in the sign-in security of your account at Bay Booking.`],
    linkText: 'This was not me: look at my sign-in security',
    ending: changeEnding,
  });

export const wrongFactorsEmail = (recipient: Recipient): Email =>
  composeEmail(recipient, {
    subject: 'Somebody entered wrong codes for your account',
    paragraphs: [
      'Somebody entered the password of your account at Bay Booking, and then several wrong codes or passkeys. ' +
        'Your second factor stopped the sign-in.',
    ],
    linkText: 'This was not me: choose a new password',
    ending: 'If it was you, you do not need to do anything.',
  });

export const socialLinkedEmail = (recipient: Recipient, provider: string): Email =>
  composeEmail(recipient, {
    subject: `${provider} was added to your account`,
    paragraphs: [`A ${provider} account was added to your account at Bay Booking, and can now be used to sign in.`],
    linkText: `This was not me: remove ${provider}`,
    ending: changeEnding,
  });

export const accountDeletedEmail = (recipient: Recipient, username: string): Email =>
  composeEmail(recipient, {
    subject: 'Your account was deleted',
    paragraphs: [`Your account ${username} at Bay Booking was deleted on ${formatTime(new Date()).text}.`],
    linkText: 'Create a new account',
    ending:
      'If you did not delete it, somebody else could use your password or your e-mail. Change both passwords, and ask ' +
      'the owner of your facility for a new invitation.',
  });

export const expiringTokenEmail = (recipient: Recipient, token: { name: string; expiresAt: Date }): Email =>
  composeEmail(recipient, {
    subject: 'A personal access token expires soon',
    paragraphs: [
      `The personal access token ${isSafeInEmail(token.name) ? `“${token.name}” ` : ''}expires on ` +
        `${formatTime(token.expiresAt).text}. The software that uses it then has no access to the Bookings API.`,
      'Create a new token in the portal, and give it to the software before then.',
    ],
    linkText: 'Open the portal',
    ending: 'If the software is no longer used, you do not need to do anything.',
  });
