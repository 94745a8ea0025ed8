// Converts the services' log lines to the output of `npm start`, with links from e-mails but without requests.

import type { Mail } from './mails.ts';

interface LogLine {
  readonly msg?: string;
  readonly audit?: unknown;
  readonly mail?: Mail;
}

/** Leaves out requests and audit events unless `showRequests` is set. */
export function printableLines(app: string, line: string, showRequests: boolean): readonly string[] {
  // `bookings` is the longest app name.
  const prefixed = `${app.padEnd('bookings'.length)} | ${line}`;
  const { mail, msg, audit } = parseLogLine(line);
  if (mail) {
    const links = mail.text.match(/https?:\/\/\S+/g) ?? [];
    return ['', `Mail to: ${mail.to}`, `Subject: ${mail.subject}`, ...links, ''];
  }
  return !showRequests && (msg === 'request' || audit !== undefined) ? [] : [prefixed];
}

export function parseLogLine(line: string): LogLine {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
