// Compares pairs of requests to the bookings service, and measures the availability of a week on its own. The two
// requests of a pair are measured in turn:
// - availability, and a list of bookings
// - creating a booking with a hold, and without a hold
// - a page of the change feed, and a page of the list of bookings
// - the same request with many expired holds in the database, and without them
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestIssuer } from '@bay-booking/testkit/issuer';
import type pg from 'pg';
import { availabilityOperations } from './availability-operations.ts';
import { create, type RequestSource, removeCreated } from './booking-operations.ts';
import { baseUrl, scope, startBookings } from './bookings-service.ts';
import { profileFlags } from './child.ts';
import { inOneDay } from './compare-bookings.ts';
import { baysPerFacility, type Dataset, facilitiesInToken, facilityId, facilityIds, newId } from './dataset.ts';
import {
  defaultConnections,
  measure,
  type Operation,
  type Sample,
  type ServiceRunOptions,
  serviceCore,
} from './measure.ts';
import { onDatabase } from './server.ts';

export interface CompareFeaturesOptions extends ServiceRunOptions {
  readonly dataset: Dataset;
}

/** The operations that are compared with each other. The key of an operation is its `target` in the report. */
type Comparison = Readonly<Record<string, Operation>>;

export const featureNames = ['availability', 'availability-week', 'holds', 'feed', 'expired-holds'] as const;

const expiredHolds = 100_000;
/** The number of holds that are created for each round, which is more than the service can use in a round. */
const holdsPerRound = 8_000;
/** How long the service may take to delete the expired holds. */
const maxCleanupMilliseconds = 180_000;
/** A hold belongs to a client and a subject. Only a token with the same `client_id` and `sub` can use the hold. */
const clientClaims = { client_id: 'bench', sub: 'bench' };

export async function compareFeatures(options: CompareFeaturesOptions): Promise<Sample[]> {
  const { databaseUrl, dataset, only, profile, log } = options;
  const issuer = await createTestIssuer({ audience: baseUrl });
  const service = await startBookings({
    databaseUrl,
    issuer,
    core: serviceCore,
    nodeFlags: profileFlags(profile),
  });
  try {
    return await onDatabase(databaseUrl, async (connection) => {
      await removeCreated(connection);
      const facilities = facilitiesInToken(dataset);
      const claims = { scope, exp: inOneDay(), ...clientClaims };
      const token = await issuer.token({ facilities: facilityIds(facilities), ...claims });
      const tokenForOneFacility = await issuer.token({ facilities: [facilityId(1)], ...claims });
      const folder = mkdtempSync(join(options.folder, 'features-'));
      const source = { client: connection, dataset, token, facilities, folder };
      const comparisons = comparisonsOf(source, tokenForOneFacility);
      const samples: Sample[] = [];
      for (const [name, comparison] of Object.entries(comparisons)) {
        // `only` contains feature names. The name of a comparison begins with the name of its feature.
        if (only.length > 0 && !only.includes(name.split(' ')[0] ?? '')) continue;
        const targets = Object.keys(comparison).map((target) => ({ ...service, name: target }));
        const operation: Operation = {
          name,
          // All operations of a comparison use the same number of connections.
          connections: Object.values(comparison)[0]?.connections ?? defaultConnections,
          load: (target, round) => (comparison[target.name] as Operation).load(target, round),
          // After an operation has created bookings, its `afterMeasurement` skips their slots (bays and times), so that
          // no later booking uses them. The operation is not known here, so `afterMeasurement` of all operations is
          // called. More slots than necessary are skipped.
          afterMeasurement: (requests) => {
            for (const { afterMeasurement } of Object.values(comparison)) afterMeasurement?.(requests);
          },
        };
        samples.push(...(await measure({ ...options, operation, targets })));
      }
      if (only.length === 0 || only.includes('expired-holds')) await waitForCleanup(connection, log);
      await connection.query('delete from booking_hold');
      await removeCreated(connection);
      return samples;
    });
  } finally {
    await service.stop();
    await issuer.close();
  }
}

function comparisonsOf(source: RequestSource, tokenForOneFacility: string): Readonly<Record<string, Comparison>> {
  const { client, token, facilities } = source;
  const [availability, list, availabilityWeek] = availabilityOperations(source) as [Operation, Operation, Operation];
  // Bookings without a hold use the bays of the first half of the facilities, and bookings with a hold use the others.
  // If there is only one facility, both use all of its bays, but at different times.
  const baysWithoutHold = Math.max(1, Math.floor(facilities / 2)) * baysPerFacility;
  const baysWithHold = Math.max(baysPerFacility, facilities * baysPerFacility - baysWithoutHold);
  // With the prefix `-`, the bookings have no external booking id.
  const plainCreate = create('create', { token, bays: baysWithoutHold, prefix: '-' });
  const withAndWithoutExpiredHolds = (operation: Operation): Comparison => {
    const afterCreatingHolds = (count: number): Operation => ({
      ...operation,
      load: async (target, round) => {
        await replaceHolds(client, count);
        return operation.load(target, round);
      },
    });
    return { 'with expired holds': afterCreatingHolds(expiredHolds), without: afterCreatingHolds(0) };
  };
  return {
    availability: { availability, list },
    'availability-week': { service: availabilityWeek },
    holds: { 'with a hold': createWithHold(source, baysWithHold), 'without a hold': plainCreate },
    feed: feedAndList(source, tokenForOneFacility),
    'expired-holds create': withAndWithoutExpiredHolds(plainCreate),
    'expired-holds availability': withAndWithoutExpiredHolds(availability),
  };
}

/** The number of the next hold, which determines its bay and its time. No number is used twice. */
let nextHeldSlot = 0;

/**
 * Creates bookings from holds. Each round begins with new holds. They are for the `bays` bays with the highest ids, one
 * bay after the other.
 */
function createWithHold({ client, token, facilities, folder }: RequestSource, bays: number): Operation {
  return {
    name: 'create with a hold',
    load: async () => {
      await client.query('delete from booking_hold');
      // `target` contains the $2 bays with the highest ids, numbered from 0. Hold number n is for bay number n % $2.
      // The hold begins n / $2 half hours (rounded down) after the start of 2120. `newId` creates an id that ends with
      // the tag of the facility (apps/bookings/src/bookings/booking-id.ts).
      const { rows } = await client.query<{ line: string }>(
        `with target as (
           select row_number() over (order by id desc) - 1 as number, facility_id, id
             from bay where facility_id = any($1) order by id desc limit $2
         ), held as (
           insert into booking_hold
             (facility_id, id, bay_id, client_id, subject, start_date, end_date, expires_at, created_at)
           select facility_id, ${newId}, id, $3, $4,
               timestamptz '2120-01-01Z' + n / $2 * interval '30 minutes',
               timestamptz '2120-01-01Z' + (n / $2 + 1) * interval '30 minutes',
               now() + interval '15 minutes', now()
             from generate_series($5::int, $5::int + $6::int - 1) n join target on number = n % $2
           returning id, bay_id, start_date
         )
         select id || ' ' || bay_id || ' ' || extract(epoch from start_date)::bigint as line
           from held order by start_date, bay_id`,
        [facilityIds(facilities), bays, clientClaims.client_id, clientClaims.sub, nextHeldSlot, holdsPerRound],
      );
      nextHeldSlot += holdsPerRound;
      // `held_until` must be the latest expiry of the holds of a bay. The service looks for holds only until this time.
      await client.query(
        `update bay set held_until = now() + interval '15 minutes' where id in (select bay_id from booking_hold)`,
      );
      await vacuumHolds(client);
      const path = join(folder, 'held');
      writeFileSync(path, `${rows.map(({ line }) => line).join('\n')}\n`);
      return { script: 'create-with-hold.lua', args: [token, path] };
    },
  };
}

/** Compares pages of the change feed with pages of the list. Each page has a thousand bookings of one facility. */
function feedAndList({ folder, dataset }: RequestSource, token: string): Comparison {
  const fullPages = Math.floor(dataset.bookings / dataset.facilities / 1000);
  const numbers = Array.from({ length: Math.max(1, Math.min(3, fullPages)) }, (_, index) => index);
  const get = (name: string, paths: readonly string[]): Operation => {
    const path = join(folder, name);
    writeFileSync(path, `${paths.join('\n')}\n`);
    return { name, load: () => ({ script: 'get.lua', args: [token, path] }) };
  };
  // The changes of a facility are numbered from 1. `removed=0` says that no changes were removed from the feed.
  return {
    feed: get(
      'feed',
      numbers.map((page) => `/api/booking-changes?limit=1000&removed=0&afterChangeNumber=${page * 1000}`),
    ),
    list: get(
      'pages',
      numbers.map((page) => `/api/bookings?pageSize=1000&page=${page + 1}`),
    ),
  };
}

/** Replaces all holds by `count` expired holds on the bays of the first facility. */
async function replaceHolds(client: pg.Client, count: number): Promise<void> {
  // A DELETE could get into a deadlock with the service, which deletes expired holds at the same time.
  await client.query('truncate booking_hold');
  if (count === 0) {
    await client.query('update bay set held_until = null where held_until is not null');
    return;
  }
  // The holds are on the day that the operation `availability` reads. Each hold lasts for half an hour. On each bay, a
  // hold starts every second.
  await client.query(
    `insert into booking_hold
       (facility_id, id, bay_id, client_id, subject, start_date, end_date, expires_at, created_at)
     select facility_id, gen_random_uuid(), id, 'bench', 'bench',
         timestamptz '2140-01-03Z' + n * interval '1 s', timestamptz '2140-01-03Z' + (n + 1800) * interval '1 s',
         now() - interval '1 s', now() - interval '5 minutes'
       from bay, generate_series(1, $2::int / ${baysPerFacility}) n where facility_id = $1`,
    [facilityId(1), count],
  );
  await client.query("update bay set held_until = now() - interval '1 s' where facility_id = $1", [facilityId(1)]);
  await vacuumHolds(client);
}

/**
 * Removes the dead rows that earlier rounds have left, and updates the statistics of the planner. In production,
 * autovacuum does both.
 */
async function vacuumHolds(client: pg.Client): Promise<void> {
  await client.query('vacuum (analyze) booking_hold');
  await client.query('vacuum (analyze) bay');
}

/**
 * Creates expired holds, and waits until the service has deleted them. The service deletes expired holds every minute.
 */
async function waitForCleanup(client: pg.Client, log: (line: string) => void): Promise<void> {
  await replaceHolds(client, expiredHolds);
  const start = performance.now();
  const countHolds = async () => Number((await client.query('select count(*) as n from booking_hold')).rows[0].n);
  while ((await countHolds()) > 0) {
    if (performance.now() - start > maxCleanupMilliseconds)
      throw new Error('the service has not deleted the expired holds');
    await sleep(1_000);
  }
  log(`${expiredHolds} expired holds were deleted after ${Math.round((performance.now() - start) / 1000)} s`);
}
