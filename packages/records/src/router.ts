// Creates the router of a management API.
import { formats } from '@bay-booking/common/date-times';
import type { Endpoint } from '@bay-booking/common/endpoint';
import { type ApiOptions, apiErrorOf, mountEndpoints } from '@bay-booking/service/http/api/router';
import { type RequestLocals, sendErrors } from '@bay-booking/service/http/app';
import { type ErrorRequestHandler, Router } from 'express';
import type { ManagementErrors } from './problems.ts';
import type { Caller } from './record-endpoints.ts';

export interface RouterOptions extends Pick<ApiOptions<Caller>, 'authorize' | 'check'> {
  readonly store: { readonly errors: ManagementErrors };
}

const prefix = /^\/management\//;

/** Only this spelling of the paths, because a proxy that blocks `/management` may let others pass. */
export function managementRouter(
  endpoints: readonly Endpoint<Caller>[],
  document: object,
  { store: { errors }, authorize, check }: RouterOptions,
): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get('/management/openapi.json', (_request, response) => {
    response.set('Cache-Control', 'no-store').json(document);
  });
  mountEndpoints(router, endpoints, {
    errors,
    formats,
    authorize,
    ...(check && { check }),
    reading: 'strict',
    cacheControl: 'no-store',
  });
  router.use((request, response, next) => {
    if (!prefix.test(request.path)) return next();
    (response.locals as RequestLocals).route = '/management/{unknown}';
    throw errors.apiError('ERR00404');
  });
  router.use(((error: unknown, request, response, next) => {
    if (!prefix.test(request.path)) return next(error);
    return sendErrors(response, apiErrorOf(error, errors));
  }) as ErrorRequestHandler);
  return router;
}
