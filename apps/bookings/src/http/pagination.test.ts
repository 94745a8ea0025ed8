// Tests the page sizes of lists.
import { expect, test } from '@jest/globals';
import { defaultPageSizes, listQuerySchema } from './pagination.ts';

test.each(Object.entries(defaultPageSizes))('the default page size of %s is not above the maximum', (_list, size) => {
  expect(size).toBeLessThanOrEqual(listQuerySchema({}, size).properties.pageSize.maximum);
});
