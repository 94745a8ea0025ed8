// How is somebody told what to mend? Faults beside their fields, and waiting times in words.

export interface ValidationError {
  readonly field?: string;
  readonly text: string;
}

export function byField(validationErrors: readonly ValidationError[]): Record<string, string> {
  return Object.fromEntries(validationErrors.flatMap(({ field, text }) => (field ? [[field, text]] : [])));
}

/** "in 15 minutes", as people say it. */
export const inWords = (seconds: number): string =>
  seconds < 60 ? `${seconds} seconds` : seconds < 120 ? 'a minute' : `${Math.ceil(seconds / 60)} minutes`;
