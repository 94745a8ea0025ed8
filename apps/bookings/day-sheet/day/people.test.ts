// Tests how people and programs are named, with and without their names.
import { expect, test } from '@jest/globals';
import { type ActorIds, describeActor, isKnown, type People } from './people.ts';

const people: People = {
  people: [
    { subject: 'acc-pia', name: 'Pia Petersen' },
    { subject: 'acc-bot', name: 'North Bookings Bot' },
    { subject: 'acc-gone', name: 'Former member 1' },
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

test('the user is named too, and an unknown actor is noticed', () => {
  expect(describeActor({ clientId: 'day-sheet', subject: 'acc-pia' }, people, { ...own, subject: 'acc-pia' })).toEqual([
    'Pia Petersen',
    'you',
  ]);
  const actors: ActorIds[] = [own, { clientId: 'pat-2', subject: 'acc-bot' }, { clientId: null, subject: null }];
  expect(actors.map((actor) => isKnown(actor, people))).toEqual([false, false, true]);
});
