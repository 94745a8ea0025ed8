// Measures whether a request costs more with a hundred times as many bookings: the service runs on both databases in
// turn.
import { createTestIssuer } from '@bay-booking/testkit/issuer';
import { bookingOperations, removeCreated } from './booking-operations.ts';
import { baseUrl, scope, startBookings } from './bookings-service.ts';
import type { Child } from './child.ts';
import { inOneDay } from './compare-bookings.ts';
import { type Dataset, facilityIds } from './dataset.ts';
import { measure, type Operation, type Sample, serviceCore, type Target } from './measure.ts';
import { onDatabase } from './server.ts';

export interface GrowthOptions {
  readonly datasets: readonly { readonly dataset: Dataset; readonly databaseUrl: string }[];
  readonly postmaster: number | undefined;
  readonly folder: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly log: (line: string) => void;
}

export async function compareGrowth({ datasets, folder, ...options }: GrowthOptions): Promise<Sample[]> {
  const issuer = await createTestIssuer({ audience: baseUrl });
  const children: Child[] = [];
  const targets: Target[] = [];
  const operationsOf = new Map<string, Operation[]>();
  try {
    for (const { dataset, databaseUrl } of datasets) {
      const child = await startBookings({ databaseUrl, issuer, core: serviceCore });
      children.push(child);
      const name = `${dataset.bookings} rows`;
      targets.push({ name, ...child });
      // Both datasets have the same number of bays, so that only the size of the table differs.
      const facilities = Math.min(10, ...datasets.map((one) => one.dataset.facilities));
      const token = await issuer.token({ facilities: facilityIds(facilities), scope, exp: inOneDay() });
      await onDatabase(databaseUrl, async (client) => {
        await removeCreated(client);
        operationsOf.set(name, await bookingOperations({ client, dataset, token, facilities, folder }));
      });
    }
    const samples: Sample[] = [];
    for (const { name } of operationsOf.get(targets[0]?.name ?? '') ?? []) {
      const own = (target: Target) => operationsOf.get(target.name)?.find((one) => one.name === name) as Operation;
      const operation: Operation = {
        name: `growth ${name}`,
        load: (target, round) => own(target).load(target, round),
        ran: (requests) => own(targets[0] as Target).ran?.(requests),
      };
      samples.push(...(await measure({ ...options, operation, targets })));
    }
    for (const { databaseUrl } of datasets) await onDatabase(databaseUrl, removeCreated);
    return samples;
  } finally {
    await Promise.all(children.map((child) => child.stop()));
    await issuer.close();
  }
}
