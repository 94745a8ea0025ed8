// Who takes away what has expired? Every instance, now and then, a bounded number of rows at a time; two at once skip each other's.
import type { Logger } from '@bay-booking/service/logging';
import type { ArtifactStore } from './adapter.ts';

const interval = 60_000;
const batch = 1_000;

export function startCleanUp({ artifacts, logger }: { artifacts: ArtifactStore; logger: Logger }): () => void {
  let stopped = false;
  const run = async (): Promise<void> => {
    try {
      while (!stopped && (await artifacts.cleanUp(batch)) === batch);
    } catch (err) {
      logger.debug({ err }, 'clean-up will be tried again');
    }
  };
  const timer = setInterval(() => void run(), interval);
  timer.unref();
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}
