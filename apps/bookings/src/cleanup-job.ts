// What grows and must be cut? Answers kept for an Idempotency-Key, after their 24 h, and what writers note for the counts of long lists,
// which is folded together; every instance tries now and then.
import type { Logger } from '@bay-booking/service/logging';
import type { CountingStore } from './bookings/counts/compaction.ts';
import type { AnswerStore } from './bookings/idempotency.ts';

const quarterOfAnHour = 900_000;
/** ReadRouter sum up what is not folded yet. */
const tenSeconds = 10_000;

export interface Chores {
  readonly answers: Pick<AnswerStore, 'forgetOld'>;
  readonly counting: Pick<CountingStore, 'fold'>;
  readonly logger: Logger;
}

export function startHousekeeping({ answers, counting, logger }: Chores) {
  const stops = [
    repeat(quarterOfAnHour, () => answers.forgetOld(new Date()), 'old answers not forgotten'),
    repeat(tenSeconds, () => counting.fold(), 'counts not folded'),
  ];
  function repeat(every: number, work: () => Promise<unknown>, failure: string): () => void {
    let timer: NodeJS.Timeout;
    const schedule = (): void => {
      timer = setTimeout(run, every * (0.5 + Math.random()));
      timer.unref();
    };
    const run = (): void => {
      work()
        .catch((err: unknown) => logger.warn({ err }, failure))
        .finally(schedule);
    };
    schedule();
    return () => clearTimeout(timer);
  }
  return {
    stop: () => {
      for (const stop of stops) stop();
    },
  };
}
