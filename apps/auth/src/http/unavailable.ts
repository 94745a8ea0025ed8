// The response body and Retry-After value of a 503, while the database or another service that a request needs is
// unavailable.

/** Seconds. */
export const retryAfter = '2';

export const temporarilyUnavailable = {
  error: 'temporarily_unavailable',
  error_description: 'the service is not available for a moment, try again',
} as const;
