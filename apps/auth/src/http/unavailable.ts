// Defines the body and the header `Retry-After` of a 503.

export const retryAfter = '2';

export const temporarilyUnavailable = {
  error: 'temporarily_unavailable',
  error_description: 'the service is temporarily unavailable, try again',
} as const;
