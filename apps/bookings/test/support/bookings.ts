// Bookings to make in tests: each `slot` is an hour of its own on its own bay unless a test says otherwise.
import type { Response } from 'supertest';

let made = 0;
const first = Date.UTC(2040, 0, 1);

export interface Slot {
  readonly bayId: string;
  readonly userAlias: string;
  readonly startDate: string;
  readonly endDate: string;
}

export function slot(fields: Readonly<Record<string, unknown>> = {}): Slot {
  const start = first + made++ * 7_200_000;
  return {
    bayId: 'bay-n1-10',
    userAlias: 'Ann',
    startDate: new Date(start).toISOString(),
    endDate: new Date(start + 3_600_000).toISOString(),
    ...fields,
  };
}

export function codesOf(response: Response): string[] {
  return (response.body.errors as { code: string }[]).map(({ code }) => code);
}
