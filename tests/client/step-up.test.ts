// Tests how packages/client reports that the user must sign in again (RFC 9470).
import { BookingsStepUpError, createBookingsClient } from '@bay-booking/client';
import { expect, test } from '@jest/globals';

test('the client throws BookingsStepUpError, and asks for no new token', async () => {
  const challenge =
    'Bearer realm="bay-booking", error="insufficient_user_authentication", acr_values="2", max_age="3600"';
  const errors = [{ code: 'ERR00401', description: 'Unauthorized.', moreInfo: '', contextData: {} }];
  const tokenRequests: unknown[] = [];
  const client = createBookingsClient({
    baseUrl: 'https://bookings.example',
    fetch: async () =>
      new Response(JSON.stringify({ errors }), { status: 401, headers: { 'WWW-Authenticate': challenge } }),
    auth: async (request) => {
      tokenRequests.push(request);
      return 'token';
    },
  });
  const error = await client.locations.get('loc-1').catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(BookingsStepUpError);
  expect(error).toMatchObject({ name: 'BookingsStepUpError', status: 401, acrValues: '2', maxAge: 3600 });
  expect(tokenRequests).toHaveLength(1);
});
