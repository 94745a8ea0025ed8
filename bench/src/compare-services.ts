// Compares instances of the bookings service, each with its own database. The instances are either two releases with
// the same bookings, or one release with a small table and with a table that is a hundred times as large. They are
// measured in turn.
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { createTestIssuer } from '@bay-booking/testkit/issuer';
import pg from 'pg';
import { availabilityOperations } from './availability-operations.ts';
import { bookingOperations, removeCreated } from './booking-operations.ts';
import { baseUrl, scope, startBookings } from './bookings-service.ts';
import type { Child } from './child.ts';
import { inOneDay } from './compare-bookings.ts';
import { type Dataset, facilityIds } from './dataset.ts';
import { measure, type Operation, type Sample, serviceCore, type Target } from './measure.ts';

export interface ServiceTarget {
  readonly name: string;
  readonly dataset: Dataset;
  readonly databaseUrl: string;
  /** The folder of another release. Default: this repository. */
  readonly release?: string;
}

export interface CompareServicesOptions {
  readonly services: readonly ServiceTarget[];
  /** The names of the measured operations. */
  readonly only: readonly string[];
  /** In the report, the names of the operations begin with this word. */
  readonly prefix: string;
  readonly postmaster: number | undefined;
  readonly folder: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly log: (line: string) => void;
}

export async function compareServices(options: CompareServicesOptions): Promise<Sample[]> {
  const { services, only, prefix, folder, ...measuring } = options;
  const issuer = await createTestIssuer({ audience: baseUrl });
  const children: Child[] = [];
  const clients: pg.Client[] = [];
  const targets: Target[] = [];
  const operationsOf = new Map<string, readonly Operation[]>();
  try {
    for (const { name, dataset, databaseUrl, release } of services) {
      const child = await startBookings({ databaseUrl, issuer, core: serviceCore, release });
      children.push(child);
      targets.push({ name, ...child });
      // The token has the same number of facilities for each dataset, so that only the size of the table differs.
      const facilities = Math.min(10, ...services.map((one) => one.dataset.facilities));
      const token = await issuer.token({ facilities: facilityIds(facilities), scope, exp: inOneDay() });
      const client = new pg.Client({ connectionString: databaseUrl });
      clients.push(client);
      await client.connect();
      await removeCreated(client);
      const sampling = { client, dataset, token, facilities, folder: mkdtempSync(join(folder, 'service-')) };
      operationsOf.set(name, [...(await bookingOperations(sampling)), ...availabilityOperations(sampling)]);
    }
    const samples: Sample[] = [];
    for (const name of only) {
      const own = (target: Target) => operationsOf.get(target.name)?.find((one) => one.name === name) as Operation;
      const operation: Operation = {
        name: `${prefix} ${name}`,
        connections: own(targets[0] as Target).connections ?? 16,
        load: (target, round) => own(target).load(target, round),
        ran: (requests) => own(targets[0] as Target).ran?.(requests),
      };
      samples.push(...(await measure({ ...measuring, operation, targets })));
    }
    for (const client of clients) await removeCreated(client);
    return samples;
  } finally {
    await Promise.all([...children.map((child) => child.stop()), ...clients.map((client) => client.end())]);
    await issuer.close();
  }
}
