// Tests what `npm start` prints for the log lines of the services.
import { expect, test } from '@jest/globals';
import { readLogLine } from './children.ts';

/** Values of the parameter `showRequests` of `readLogLine`. `npm start` passes true if LOG_LEVEL is set. */
const [hideRequests, showRequests] = [false, true];
const request = JSON.stringify({ level: 'info', msg: 'request', path: '/api/bookings', status: 200 });

test('a mail is printed as its recipient, its subject and its link, each on a separate line', () => {
  const text = 'Hello Ada,\n\nFollow this link: http://localhost:4000/reset?token=abc\n\nIt works once.';
  const line = JSON.stringify({
    msg: 'e-mail is not sent',
    mail: { to: 'ada@example.com', subject: 'Your password', text },
  });
  expect(readLogLine('auth', line, hideRequests).printed).toEqual([
    '',
    'Mail to: ada@example.com',
    'Subject: Your password',
    'http://localhost:4000/reset?token=abc',
    '',
  ]);
});

test('requests and audit events are printed only if LOG_LEVEL is set', () => {
  const event = JSON.stringify({ msg: 'audit', audit: { kind: 'token.issued' } });
  expect(readLogLine('bookings', request, hideRequests).printed).toEqual([]);
  expect(readLogLine('auth', event, hideRequests).printed).toEqual([]);
  expect(readLogLine('bookings', request, showRequests).printed).toEqual([`bookings | ${request}`]);
  expect(readLogLine('auth', event, showRequests).printed).toEqual([`auth     | ${event}`]);
});

test.each(['plain text', '{"msg":"listening","port":4000}', 'null', '{broken'])(
  'the line %s is printed unchanged after the name of the app',
  (line) => {
    // The spaces make `auth` as long as `bookings`.
    expect(readLogLine('auth', line, hideRequests).printed).toEqual([`auth     | ${line}`]);
  },
);
