// What does a request get that no handler sees, since it is no HTTP, too slow, or too long in its header? The envelope as well (contract
// section 7).
import { randomUUID } from 'node:crypto';
import { errorEnvelope } from '@bay-booking/common/errors';
import type { MalformedRequestResponder } from '@bay-booking/service/http/malformed-request';
import { problemOf } from '../errors.ts';
import { failureHeaders } from './response.ts';

const codes = { 400: 'ERR00400', 408: 'ERR00408', 413: 'ERR00413', 431: 'ERR00431' } as const;

export const malformedRequestResponse: MalformedRequestResponder = (status) => ({
  headers: { ...failureHeaders, 'X-Content-Type-Options': 'nosniff', 'X-Request-Id': randomUUID() },
  body: JSON.stringify(errorEnvelope([problemOf(codes[status])])),
});
