// Tests which mails the demo page shows.
import { expect, test } from '@jest/globals';
import { createMails } from './pages.ts';

test('only the last 50 mails are kept, and the newest is the first', () => {
  const mails = createMails();
  for (let number = 1; number <= 60; number += 1) mails.add({ to: 'ada@example.com', subject: `${number}`, text: '' });
  expect(mails.list().map(({ subject }) => subject)).toEqual(Array.from({ length: 50 }, (_, index) => `${60 - index}`));
});
