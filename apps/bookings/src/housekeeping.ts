// What grows and must be cut? Answers kept for an Idempotency-Key, after their 24 h; every instance tries now and then.
import type { Logger } from '@bay-booking/service/logging';
import type { AnswerStore } from './bookings/answers.ts';

const quarterOfAnHour = 900_000;

export function startHousekeeping({ answers, logger }: { answers: Pick<AnswerStore, 'forgetOld'>; logger: Logger }) {
  let timer: NodeJS.Timeout;
  const schedule = (): void => {
    timer = setTimeout(run, quarterOfAnHour * (0.5 + Math.random()));
    timer.unref();
  };
  const run = (): void => {
    answers
      .forgetOld(new Date())
      .catch((err: unknown) => logger.warn({ err }, 'old answers not forgotten'))
      .finally(schedule);
  };
  schedule();
  return { stop: () => clearTimeout(timer) };
}
