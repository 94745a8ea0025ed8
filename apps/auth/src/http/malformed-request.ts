// Builds the response to a request that Node.js cannot parse, in the form of an OAuth error (RFC 6749 section 5.2).
import { STATUS_CODES } from 'node:http';
import type { MalformedRequestResponder } from '@bay-booking/service/http/malformed-request';

export const malformedRequestResponse: MalformedRequestResponder = (status) => ({
  headers: {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  },
  body: JSON.stringify({ error: 'invalid_request', error_description: STATUS_CODES[status] }),
});
