// Tests when a code of an authenticator app is valid, with the secret and a code of RFC 6238, appendix B.
import { expect, test } from '@jest/globals';
import { stepOfCode } from './codes.ts';

const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
const stepAt = (seconds: number, code = '287082') => stepOfCode(secret, code, seconds * 1000);

test('a code is valid in its own 30 s and in those before and after', () => {
  expect([0, 29, 30, 59, 60, 89].map((seconds) => stepAt(seconds))).toEqual(Array(6).fill(1));
  expect(stepAt(90)).toBeUndefined();
  expect(stepAt(1_111_111_079, '081804')).toBe(37_037_036);
  expect(stepAt(1_111_111_049, '081804')).toBeUndefined();
});

test.each(['287083', '28708', '2870820', '94287082', ' 287082', '٢٨٧٠٨٢', 'abcdef', ''])(
  '%j is not the code',
  (code) => {
    expect(stepAt(59, code)).toBeUndefined();
  },
);
