// Tests the calculation of pages and the list envelope.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { listEnvelope, readPage, reconcileTotal } from './page.ts';

const hrefOf = (page: number) => `https://bookings.example/api/bookings?page=${page}`;

test('all pages of a list together contain exactly the items of the list, in order, and each has the total', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer(), { maxLength: 60 }),
      fc.integer({ min: 1, max: 20 }),
      async (all, pageSize) => {
        const read = (page: number) =>
          readPage(
            { page, pageSize },
            async (limit, offset) => all.slice(offset, offset + limit),
            async () => all.length,
          );
        const numbers = Array.from({ length: Math.ceil(all.length / pageSize) }, (_, index) => index + 1);
        const pages = await Promise.all(numbers.map(read));
        expect(pages.flatMap(({ rows }) => rows)).toEqual(all);
        for (const { rows, total } of pages)
          expect({ isEmpty: rows.length === 0, total }).toEqual({ isEmpty: false, total: all.length });
      },
    ),
  ));

test('the link next of each page but the last leads to the next page, and prev to the page before', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 1, max: 50 }), (total, pageSize) => {
      const visited: string[] = [];
      for (let page = 1; ; page += 1) {
        const { _links: links } = listEnvelope([], total, { page, pageSize }, hrefOf);
        visited.push(links.self?.href ?? '');
        if (page > 1) expect(links.prev?.href).toBe(hrefOf(page - 1));
        if (!links.next) {
          expect(links.self).toEqual(links.last);
          break;
        }
        expect(links.next.href).toBe(hrefOf(page + 1));
      }
      expect(visited).toHaveLength(Math.max(Math.ceil(total / pageSize), 1));
    }),
  );
});

test('reconcileTotal corrects a total that contradicts the number of items on the page', () => {
  // The arguments are the number of items on the page, the number of items before it, and the total that was counted.
  const offset = 10;
  expect(reconcileTotal(5, offset, 12)).toBe(15);
  expect(reconcileTotal(5, offset, 99)).toBe(99);
  expect(reconcileTotal(0, offset, 12)).toBe(10);
  expect(reconcileTotal(0, offset, 7)).toBe(7);
});
