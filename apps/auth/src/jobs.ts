// Lists the periodic jobs, which every instance runs. The outbox (mail/), the queue of logout tokens
// (backchannel-logout/) and the signing keys (oidc/provider-manager.ts) have loops of their own.
import type { Logger } from '@bay-booking/service/logging';
import { startLoop } from '@bay-booking/service/periodic';

/**
 * Deletes up to `limit` expired rows from each of its tables. Returns the highest number of rows that it deleted from
 * one table. If this is `limit`, there may be more expired rows.
 */
type CleanUp = (limit: number) => Promise<number>;

export interface JobOptions {
  readonly artifacts: { readonly cleanUp: CleanUp };
  readonly expiredRows: { readonly cleanUp: CleanUp };
  readonly logger: Logger;
}

const intervalMs = 60_000;
const batchSize = 1_000;

export function startJobs({ artifacts, expiredRows, logger }: JobOptions): { readonly stop: () => Promise<void> } {
  const cleanUps: Readonly<Record<string, CleanUp>> = {
    'delete expired artifacts': artifacts.cleanUp,
    'delete expired rows': expiredRows.cleanUp,
  };
  const loops = Object.entries(cleanUps).map(([name, cleanUp]) =>
    startLoop({ name, intervalMs, logger, run: async () => (await cleanUp(batchSize)) === batchSize }),
  );
  return {
    stop: async () => {
      await Promise.all(loops.map(({ stop }) => stop()));
    },
  };
}
