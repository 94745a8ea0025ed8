// What does a request get that no handler sees, since it is no HTTP, too slow, or too long in its header? An error as OAuth has them
// (RFC 6749 section 5.2).
import { STATUS_CODES } from 'node:http';
import type { MalformedRequestResponder } from '@bay-booking/service/http/malformed-request';

export const malformedRequest: MalformedRequestResponder = (status) => ({
  headers: {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  },
  body: JSON.stringify({ error: 'invalid_request', error_description: STATUS_CODES[status] }),
});
