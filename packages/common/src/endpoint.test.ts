// Tests the links of resources.
import { expect, test } from '@jest/globals';
import { linksBelow } from './endpoint.ts';

test.each([
  ['http://localhost:4001', 'http://localhost:4001/api/bookings/1'],
  ['https://range.example/', 'https://range.example/api/bookings/1'],
  ['https://range.example/v2/', 'https://range.example/v2/api/bookings/1'],
])('a link below %s is %s', (base, href) => {
  expect(linksBelow(base)('GET', '/api/bookings/1')).toEqual({ method: 'GET', href });
});
