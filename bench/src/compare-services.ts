// Compares instances of the bookings service, each with its own database. The instances run either two releases with
// the same bookings, or the same release, one with a small table and one with a table that is a hundred times as large.
// Each round measures all instances.
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
import {
  defaultConnections,
  measure,
  type Operation,
  type RunOptions,
  type Sample,
  serviceCore,
  type Target,
} from './measure.ts';

const maxFacilitiesOfToken = 10;

export interface ServiceTarget {
  readonly name: string;
  readonly dataset: Dataset;
  readonly databaseUrl: string;
  /** The folder of another release. Default: this repository. */
  readonly release?: string;
}

export interface CompareServicesOptions extends RunOptions {
  readonly services: readonly ServiceTarget[];
  /** The names of the measured operations. */
  readonly only: readonly string[];
  /** The word with which the names of the operations begin in the report. */
  readonly prefix: string;
}

export async function compareServices(options: CompareServicesOptions): Promise<Sample[]> {
  const { services, only, prefix, folder } = options;
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
      const facilities = Math.min(maxFacilitiesOfToken, ...services.map((service) => service.dataset.facilities));
      const token = await issuer.token({ facilities: facilityIds(facilities), scope, exp: inOneDay() });
      const client = new pg.Client({ connectionString: databaseUrl });
      clients.push(client);
      await client.connect();
      // An earlier run may have been interrupted before it deleted the bookings that it had created.
      await removeCreated(client);
      const source = { client, dataset, token, facilities, folder: mkdtempSync(join(folder, 'service-')) };
      operationsOf.set(name, [...(await bookingOperations(source)), ...availabilityOperations(source)]);
    }
    const samples: Sample[] = [];
    for (const name of only) {
      const operationOf = (target: Target): Operation =>
        operationsOf.get(target.name)?.find((operation) => operation.name === name) as Operation;
      const firstOperation = operationOf(targets[0] as Target);
      const operation: Operation = {
        name: `${prefix} ${name}`,
        connections: firstOperation.connections ?? defaultConnections,
        load: (target, round) => operationOf(target).load(target, round),
        // Advances the number of the next free slot, which the operations of all targets share. It therefore does not
        // matter whose function is called.
        afterMeasurement: (requests) => firstOperation.afterMeasurement?.(requests),
      };
      samples.push(...(await measure({ ...options, operation, targets })));
    }
    for (const client of clients) await removeCreated(client);
    return samples;
  } finally {
    await Promise.all([...children.map((child) => child.stop()), ...clients.map((client) => client.end())]);
    await issuer.close();
  }
}
