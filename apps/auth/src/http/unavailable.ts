// Defines the body and the header `Retry-After` of a 503.

export const retryAfter = '2';

export const temporarilyUnavailable = {
  error: 'temporarily_unavailable',
  error_description: 'the service is not available for a moment, try again',
} as const;
