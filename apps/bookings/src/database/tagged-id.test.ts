// Tests booking ids: UUIDs of version 7 that end with the tag of their facility.
import { expect, test } from '@jest/globals';
import { facilityTag, findLikelyFacilities, isUuid, newTaggedId } from './tagged-id.ts';

test('newTaggedId returns unique version 7 UUIDs with the time and the tag of the facility', () => {
  const now = new Date('2030-01-01T00:00:00.123Z');
  const ids = Array.from({ length: 1000 }, () => newTaggedId('fac-north', now));
  expect(new Set(ids).size).toBe(1000);
  for (const id of ids) {
    expect(isUuid(id)).toBe(true);
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(now.getTime());
    expect(id.endsWith(facilityTag('fac-north'))).toBe(true);
  }
});

test('the tag of an id finds its facility among those of a token, even in upper case', () => {
  const facilities = Array.from({ length: 100 }, (_, index) => `fac-${index}`);
  // Several facilities can have the same tag. The result then contains all of them.
  for (const facility of facilities) {
    expect(findLikelyFacilities(facilities, newTaggedId(facility, new Date()).toUpperCase())).toContain(facility);
  }
  // None of the 100 facilities has the tag of `elsewhere`.
  expect(findLikelyFacilities(facilities, newTaggedId('elsewhere', new Date()))).toEqual([]);
});
