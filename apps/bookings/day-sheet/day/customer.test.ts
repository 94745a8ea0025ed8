// Tests that edits of a customer keep other metadata, and what the page says of a customer.
import { expect, test } from '@jest/globals';
import {
  attendanceOf,
  changedLike,
  customerTexts,
  describeMetadataChange,
  otherFields,
  withEdits,
} from './customer.ts';

const metadata = { phone: '1234', players: '4', attendance: 'late', ...JSON.parse('{ "__proto__": "x" }') };

test('an edit keeps every other key, and an empty text removes a key', () => {
  const edited = withEdits({ metadata }, new Map(Object.entries({ phone: '', note: 'Left-handed' })));
  expect(Object.entries(edited)).toEqual([
    ['players', '4'],
    ['attendance', 'late'],
    ['__proto__', 'x'],
    ['note', 'Left-handed'],
  ]);
  expect(withEdits({}, new Map())).toEqual({});
  expect(withEdits({ metadata: { note: '' } }, new Map())).toEqual({ note: '' });
});

test('a change of one booking of a group changes only the edited keys of the others', () => {
  const to = { ...metadata, attendance: 'arrived', note: 'New' };
  const own = { metadata: { phone: '99', attendance: 'no-show' } };
  expect(changedLike(own, { metadata }, to)).toEqual({ phone: '99', attendance: 'arrived', note: 'New' });
  expect(changedLike({}, { metadata: { toString: 'x' } }, {})).toEqual({});
});

test('attendance is a word, also another one of a program, and a change names each key', () => {
  expect(
    ['arrived', 'no-show', 'here', 'toString'].map((attendance) => attendanceOf({ metadata: { attendance } })),
  ).toEqual(['Arrived', 'No-show', 'here', 'toString']);
  expect(customerTexts({ metadata: { ...metadata, note: '' } })).toEqual(['Late', '1234']);
  expect(otherFields({ metadata }).map(([key]) => key)).toEqual(['players', '__proto__']);
  expect(describeMetadataChange(null, { email: 'a@b', attendance: 'no-show' })).toBe(
    'the e-mail from nothing to a@b, the attendance from nothing to No-show',
  );
  expect(describeMetadataChange({ toString: '1', note: 'a' }, { note: 'a' })).toBe('the toString from 1 to nothing');
  expect(describeMetadataChange({ a: '1', b: '2' }, { b: '2', a: '1' })).toBe('');
});
