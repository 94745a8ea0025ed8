// Defines the body and the header `Retry-After` of a 503. The status 503 is sent while the database or another required
// service is unavailable.

/** The seconds after which the client should try again. */
export const retryAfter = '2';

export const temporarilyUnavailable = {
  error: 'temporarily_unavailable',
  error_description: 'the service is not available for a moment, try again',
} as const;
