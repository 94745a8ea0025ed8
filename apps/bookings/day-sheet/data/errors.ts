// Describes what went wrong with a request and leads through auth if the service asks for a step-up.
import { BookingsApiError, BookingsTokenError, type Problem } from '@bay-booking/client';
import { api, isConnectionProblem, stepUp } from '../api.ts';
import type { Day } from '../day/day.ts';
import {
  type Description,
  formFieldOf,
  RejectedBookings,
  type RequestedBooking,
  SentenceError,
  sentencesOf,
} from '../day/sentences.ts';
import { findBookings } from './read.ts';

const noConnection = { text: 'There is no connection to the service. Try again later.', isOutage: true };
const unreachable = { text: 'The sign-in service does not respond. Try again later.', isOutage: true };

async function describeProblem(problem: Problem, day: Day, requested: readonly RequestedBooking[]) {
  const index = Number(problem.contextData.index ?? 0);
  const one = problem.code === 'BOOK00002' ? requested[index] : undefined;
  // If the bookings in the way cannot be read, the sentence does not name them.
  const found = one ? await findBookings(api, [one.bayId], one).catch(() => []) : [];
  const field = formFieldOf(problem);
  return sentencesOf(problem, day, requested, found).map((text) => ({ text, index, field }));
}

/** Describes an error. Leaves the page for auth if the error asks for a step-up. */
export async function describeError(
  error: unknown,
  day: Day,
  requested: readonly RequestedBooking[] = [],
): Promise<readonly Description[]> {
  if (error instanceof RejectedBookings) return describeError(error.cause, day, error.requested);
  try {
    await stepUp(error);
  } catch {
    return [unreachable];
  }
  if (error instanceof SentenceError) return [{ text: error.message, field: error.field }];
  if (error instanceof BookingsApiError && error.problems.length > 0)
    return (await Promise.all(error.problems.map((problem) => describeProblem(problem, day, requested)))).flat();
  if (isConnectionProblem(error)) return [noConnection];
  if (error instanceof BookingsTokenError) return [unreachable];
  return [{ text: `This did not work: ${error instanceof Error ? error.message : String(error)}.` }];
}

/** Describes an error where there are no fields. */
export const sentenceOf = async (...described: Parameters<typeof describeError>): Promise<string> =>
  (await describeError(...described)).map(({ text }) => text).join(' ');
