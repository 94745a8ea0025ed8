// Creates the response to a request that Node rejects before any handler runs: because the HTTP is malformed, the
// header is too large, or the request takes too long to arrive.
import { randomUUID } from 'node:crypto';
import { errorEnvelope } from '@bay-booking/common/errors';
import type { MalformedRequestResponder } from '@bay-booking/service/http/malformed-request';
import { problemOf } from '../errors.ts';
import { errorHeaders } from './response.ts';

const codes = { 400: 'ERR00400', 408: 'ERR00408', 413: 'ERR00413', 431: 'ERR00431' } as const;

export const malformedRequestResponse: MalformedRequestResponder = (status) => ({
  headers: { ...errorHeaders, 'X-Content-Type-Options': 'nosniff', 'X-Request-Id': randomUUID() },
  body: JSON.stringify(errorEnvelope([problemOf(codes[status])])),
});
