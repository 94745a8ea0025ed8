// Measures 64 clients that book the same bay. Each booking locks the row of the bay, so the bookings run one after the
// other. The result is compared with pgbench, which sends a similar SQL statement directly to PostgreSQL. If pgbench is
// not installed, a loop with the driver `pg` replaces pgbench.
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createTestIssuer } from '@bay-booking/testkit/issuer';
import pg from 'pg';
import { removeCreated } from './booking-operations.ts';
import { baseUrl, scope, startBookings } from './bookings-service.ts';
import type { Child } from './child.ts';
import { inOneDay } from './compare-bookings.ts';
import { bayId, createdFrom, facilityId } from './dataset.ts';
import { cpuOf, hasProgram, memoryOf } from './machine.ts';
import { otherCore, type RunOptions, type Sample, serviceCore, unknownCosts } from './measure.ts';
import { onDatabase } from './server.ts';
import { runWrk } from './wrk.ts';

const clients = 64;
const run = promisify(execFile);

export interface ContentionOptions extends RunOptions {
  readonly databaseUrl: string;
}

type Measured = Pick<Sample, 'rate'> & Partial<Sample>;

export async function compareContention(options: ContentionOptions): Promise<Sample[]> {
  const { databaseUrl, rounds, seconds, log } = options;
  const issuer = await createTestIssuer({ audience: baseUrl });
  const service = await startBookings({ databaseUrl, issuer, core: serviceCore });
  try {
    const token = await issuer.token({ facilities: [facilityId(1)], scope, exp: inOneDay() });
    const measureService = serviceMeasurement(service, token, seconds);
    const measurePostgres = () => (hasProgram('pgbench') ? runPgbench(options) : runDriverLoop(options));
    const targets = [
      { target: 'service', measure: measureService },
      { target: 'pgbench', measure: measurePostgres },
    ];
    return await onDatabase(databaseUrl, async (client) => {
      const deadlocksBefore = await countDeadlocks(client);
      const samples: Sample[] = [];
      // The first measurement only warms up the service.
      await measureService();
      await removeCreated(client);
      for (let round = 0; round < rounds; round++) {
        for (const { target, measure } of round % 2 === 0 ? targets : targets.toReversed()) {
          // `measure` does not return all costs. The others get the values of `unknownCosts`.
          samples.push({ operation: 'hot bay', target, round, ...unknownCosts, ...(await measure()) });
          await removeCreated(client);
        }
      }
      const deadlocks = (await countDeadlocks(client)) - deadlocksBefore;
      log(`hot bay: ${rounds} rounds of ${seconds} s, ${clients} clients, ${deadlocks} deadlocks`);
      if (deadlocks > 0) throw new Error(`${deadlocks} deadlocks: there must be none`);
      return samples;
    });
  } finally {
    await service.stop();
    await issuer.close();
  }
}

function serviceMeasurement({ pid, url }: Child, token: string, seconds: number): () => Promise<Measured> {
  // A slot is a half hour, which one request books. No slot is used twice. The load generator wrk does not count the
  // requests that are in progress when it ends, so the next measurement leaves out some slots.
  let nextSlot = 0;
  return async () => {
    const cpuBefore = cpuOf(pid);
    const args = [token, bayId(1), String(nextSlot), String(Date.parse(createdFrom) / 1000)];
    const load = { script: 'hot-bay.lua', args, url, seconds, connections: clients, core: otherCore };
    const { requests, seconds: duration, p50, p99, failed } = await runWrk(load);
    nextSlot += requests + 1000;
    const cpu = (cpuOf(pid) - cpuBefore) / requests;
    return { rate: requests / duration, p50, p99, failed, cpu, memory: memoryOf(pid) };
  };
}

/**
 * Returns a statement that locks the row of the bay, as the service does, and books the bay for half an hour. `start`
 * is an SQL expression.
 */
function insertBooking(start: string): string {
  return `insert into booking (facility_id, id, location_id, bay_id, external_booking_id, correlation_id, user_alias,
    start_date, end_date, created_at, last_updated_at, version)
  select b.facility_id, gen_random_uuid(), b.location_id, b.id, null, null, 'player',
    ${start}, ${start} + interval '30 minutes', now(), now(), 1
  from (select facility_id, location_id, id from bay
        where facility_id = '${facilityId(1)}' and id = '${bayId(1)}' and bookable for no key update) b
  on conflict on constraint booking_no_overlap do nothing returning id`;
}

/** Each client of pgbench books different slots. A slot is half an hour, and 8760 slots are half a year. */
const slotsPerClient = 8760;

async function runPgbench({ databaseUrl, folder, seconds }: ContentionOptions): Promise<Measured> {
  const file = join(folder, 'hot-bay.sql');
  const start = `timestamptz '${createdFrom}' + (:client_id * ${slotsPerClient} + :n) * interval '30 minutes'`;
  const statement = insertBooking(start).replaceAll('\n', ' ');
  writeFileSync(file, `\\set n :n + 1\n${statement};\n`);
  const load = ['--client', String(clients), '--jobs', '1', '--time', String(seconds), '--file', file];
  // pgbench runs on the core of the service, which has no load during this measurement.
  const pgbench = ['pgbench', '--no-vacuum', '--protocol', 'prepared', '--define', 'n=0', ...load, databaseUrl];
  const { stdout } = await run('taskset', ['-c', String(serviceCore), ...pgbench], { timeout: (seconds + 30) * 1000 });
  const numberIn = (pattern: RegExp) => Number(pattern.exec(stdout)?.[1]);
  // pgbench reports no median, so the average takes its place.
  return { rate: numberIn(/tps = ([\d.]+)/), p50: numberIn(/latency average = ([\d.]+)/) };
}

async function runDriverLoop({ databaseUrl, seconds }: ContentionOptions): Promise<Measured> {
  const connections = await Promise.all(
    Array.from({ length: clients }, async () => {
      const client = new pg.Client({ connectionString: databaseUrl });
      await client.connect();
      return client;
    }),
  );
  const start = `timestamptz '${createdFrom}' + ($1::int * ${slotsPerClient} + $2::int) * interval '30 minutes'`;
  const text = insertBooking(start);
  const end = Date.now() + seconds * 1000;
  let bookings = 0;
  await Promise.all(
    connections.map(async (client, number) => {
      for (let slot = 0; Date.now() < end; slot++) {
        await client.query({ name: 'hot', text, values: [number, slot] });
        bookings++;
      }
      await client.end();
    }),
  );
  return { rate: bookings / seconds };
}

async function countDeadlocks(client: pg.Client): Promise<number> {
  const { rows } = await client.query('select deadlocks from pg_stat_database where datname = current_database()');
  return Number(rows[0].deadlocks);
}
