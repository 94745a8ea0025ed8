// Tests how people and programs are named, with and without their names.
import type { FacilityPeople } from '@bay-booking/client';
import { expect, test } from '@jest/globals';
import { describeActor } from './people.ts';

const nobody = { kind: 'user', role: null, former: false } as const;
const people: FacilityPeople = {
  people: [
    { subject: 'acc-pia', name: 'Pia Petersen', ...nobody },
    { subject: 'acc-bot', name: 'North Bookings Bot', ...nobody },
    { subject: 'acc-gone', name: 'Former member 1', ...nobody },
  ],
  clients: [
    { clientId: 'pat-1', name: 'Website', subject: 'acc-bot' },
    { clientId: 'day-sheet', name: 'Day sheet', subject: null },
    { clientId: 'app', name: 'Partner app', subject: null },
  ],
};
const own = { clientId: 'day-sheet', subject: 'acc-own' };

test.each<[clientId: string | null, subject: string | null, expected: string[], withoutNames: string]>([
  ['day-sheet', 'acc-pia', ['Pia Petersen'], 'somebody (name not available)'],
  ['app', 'acc-pia', ['Pia Petersen', 'Partner app'], 'somebody (name not available)'],
  ['pat-1', 'acc-bot', ['Website', 'North Bookings Bot'], 'somebody (name not available)'],
  ['day-sheet', 'acc-gone', ['Former member 1'], 'somebody (name not available)'],
  ['day-sheet', 'acc-own', ['you'], 'you'],
  ['app', 'app', ['Partner app'], 'a program (name not available)'],
  ['app', null, ['Partner app'], 'a program (name not available)'],
  ['operator', null, ['operator'], 'a program (name not available)'],
  ['day-sheet', 'acc-unknown', ['somebody (name not available)'], 'somebody (name not available)'],
  [null, null, ['the service itself'], 'the service itself'],
])('a change by %s for %s names people and programs', (clientId, subject, expected, withoutNames) => {
  expect(describeActor({ clientId, subject }, people, own)).toEqual(expected);
  expect(describeActor({ clientId, subject }, undefined, own)).toEqual([withoutNames]);
});

test('the user is named too', () => {
  const user = { clientId: 'day-sheet', subject: 'acc-pia' };
  expect(describeActor(user, people, user)).toEqual(['Pia Petersen', 'you']);
});
