// Measures 64 clients that book the same bay. Each booking locks the row of the bay, so the bookings run one after the
// other. The result is compared with pgbench, which sends the same SQL statement directly to PostgreSQL. Without
// pgbench, a loop over pg replaces it.
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createTestIssuer } from '@bay-booking/testkit/issuer';
import pg from 'pg';
import { removeCreated } from './booking-operations.ts';
import { baseUrl, scope, startBookings } from './bookings-service.ts';
import { inOneDay } from './compare-bookings.ts';
import { bayId, createdFrom, facilityId } from './dataset.ts';
import { cpuOf, findProgram, memoryOf } from './machine.ts';
import { otherCore, type Sample, serviceCore } from './measure.ts';
import { onDatabase } from './server.ts';
import { runWrk } from './wrk.ts';

const clients = 64;
const run = promisify(execFile);

export interface ContentionOptions {
  readonly databaseUrl: string;
  readonly folder: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly log: (line: string) => void;
}

export async function compareContention(options: ContentionOptions): Promise<Sample[]> {
  const { databaseUrl, rounds, seconds, log } = options;
  const issuer = await createTestIssuer({ audience: baseUrl });
  const service = await startBookings({ databaseUrl, issuer, core: serviceCore });
  try {
    const token = await issuer.token({ facilities: [facilityId(1)], scope, exp: inOneDay() });
    return await onDatabase(databaseUrl, async (client) => {
      const before = await deadlocks(client);
      const samples: Sample[] = [];
      // The number of the next slot. No slot is used twice: when wrk ends, it abandons its last requests. The service
      // may process these requests after the clean-up, and their slots are then taken.
      let next = 0;
      const throughService = async (round: number): Promise<void> => {
        const cpu = cpuOf(service.pid);
        const origin = String(Date.parse(createdFrom) / 1000);
        const args = [token, bayId(1), String(next), origin];
        const load = { script: 'hot-bay.lua', args, url: service.url, seconds, connections: clients, core: otherCore };
        const { requests, seconds: took, p50, p99, failed } = await runWrk(load);
        next += requests + 1000;
        const used = (cpuOf(service.pid) - cpu) / requests;
        samples.push(
          sampleOf('service', round, {
            rate: requests / took,
            p50,
            p99,
            failed,
            cpu: used,
            memory: memoryOf(service.pid),
          }),
        );
      };
      const throughDriver = async (round: number): Promise<void> => {
        const measured = findProgram('pgbench') ? await pgbench(options) : await driverLoop(options);
        samples.push(sampleOf('pgbench', round, measured));
      };
      await throughService(-1);
      samples.length = 0;
      for (let round = 0; round < rounds; round++) {
        await removeCreated(client);
        const order = round % 2 === 0 ? [throughService, throughDriver] : [throughDriver, throughService];
        for (const one of order) {
          await one(round);
          await removeCreated(client);
        }
      }
      const locked = (await deadlocks(client)) - before;
      log(`hot bay: ${rounds} rounds of ${seconds} s, ${clients} clients, ${locked} deadlocks`);
      if (locked > 0) throw new Error(`${locked} deadlocks: there must be none`);
      return samples;
    });
  } finally {
    await service.stop();
    await issuer.close();
  }
}

type Measured = Pick<Sample, 'rate'> & Partial<Sample>;

function sampleOf(target: string, round: number, measured: Measured): Sample {
  const unknown = {
    p50: Number.NaN,
    p95: Number.NaN,
    p99: Number.NaN,
    cpu: Number.NaN,
    databaseCpu: Number.NaN,
    memory: Number.NaN,
  };
  return { operation: 'hot bay', target, round, ...unknown, foreign: Number.NaN, failed: 0, ...measured };
}

const insert = (
  start: string,
  end: string,
) => `insert into booking (facility_id, id, location_id, bay_id, external_booking_id, correlation_id,
  user_alias, start_date, end_date, created_at, last_updated_at, version)
 select b.facility_id, gen_random_uuid(), b.location_id, b.id, null, null, 'player', ${start}, ${end}, now(), now(), 1
 from (select facility_id, location_id, id from bay where facility_id = '${facilityId(1)}' and id = '${bayId(1)}' and bookable for no key update) b
 on conflict on constraint booking_no_overlap do nothing returning id`;

/** Each client books its own slots: half a year of half hours. */
async function pgbench({ databaseUrl, folder, seconds }: ContentionOptions): Promise<Measured> {
  const file = join(folder, 'hot-bay.sql');
  const start = `timestamptz '${createdFrom}' + (:client_id * 8760 + :n) * interval '30 minutes'`;
  const statement = insert(start, `${start} + interval '30 minutes'`).replaceAll('\n', ' ');
  writeFileSync(file, `\\set n :n + 1\n${statement};\n`);
  const args = [
    '-c',
    String(serviceCore),
    'pgbench',
    '-n',
    '-M',
    'prepared',
    '-c',
    String(clients),
    '-j',
    '1',
    '-D',
    'n=0',
    '-T',
    String(seconds),
    '-f',
    file,
    databaseUrl,
  ];
  const { stdout } = await run('taskset', args, { timeout: (seconds + 30) * 1000 });
  const [rate, latency] = [/tps = ([\d.]+)/, /latency average = ([\d.]+)/].map((form) =>
    Number(form.exec(stdout)?.[1]),
  );
  return { rate: rate ?? Number.NaN, p50: latency ?? Number.NaN };
}

async function driverLoop({ databaseUrl, seconds }: ContentionOptions): Promise<Measured> {
  const open = await Promise.all(
    Array.from({ length: clients }, async () => {
      const client = new pg.Client({ connectionString: databaseUrl });
      await client.connect();
      return client;
    }),
  );
  const start = `timestamptz '${createdFrom}' + ($1::int * 8760 + $2::int) * interval '30 minutes'`;
  const text = insert(start, `${start} + interval '30 minutes'`);
  const end = Date.now() + seconds * 1000;
  let done = 0;
  await Promise.all(
    open.map(async (client, number) => {
      for (let n = 0; Date.now() < end; n++, done++) await client.query({ name: 'hot', text, values: [number, n] });
      await client.end();
    }),
  );
  return { rate: done / seconds };
}

async function deadlocks(client: pg.Client): Promise<number> {
  const { rows } = await client.query('select deadlocks from pg_stat_database where datname = current_database()');
  return Number(rows[0].deadlocks);
}
