// What does an Express route of ours answer while the database is away? 503 with Retry-After, as JSON and without inner detail.
import { isUnavailable } from '@bay-booking/service/database';
import type { NextFunction, Request, RequestHandler, Response } from 'express';

export const unavailableAsJson =
  (handler: RequestHandler): RequestHandler =>
  async (request: Request, response: Response, next: NextFunction) => {
    try {
      await handler(request, response, next);
    } catch (error) {
      if (!isUnavailable(error) && (error as { status?: number }).status !== 503) throw error;
      response.status(503).set('Retry-After', '2').json({
        error: 'temporarily_unavailable',
        error_description: 'the service is not available for a moment, try again',
      });
    }
  };
