// Measures how many bookings of one bay PostgreSQL alone inserts, with 64 clients of pgbench. goals.ts compares the
// service with this rate.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bayId, facilityId } from './dataset.ts';
import { serviceCore } from './machine.ts';
import { execute, type Result, type Runner, withoutTimes } from './measure.ts';

export const hotBayClients = 64;

/** The statement locks the bay. Each run books a new bay, starting with bay 2, because the service books bay 1. */
export function pgbenchRunner(databaseUrl: string, folder: string): Runner {
  const file = join(folder, 'hot-bay.sql');
  // Half a year of half hours for each client, so that their slots never overlap.
  const slotsPerClient = 8760;
  const start = `timestamptz '2200-01-01Z' + (:client_id * ${slotsPerClient} + :n) * interval '30 minutes'`;
  let bay = 1;
  const run = async (seconds: number): Promise<Result> => {
    bay += 1;
    const statement = `insert into booking (facility_id, id, location_id, bay_id, user_alias, start_date, end_date,
        created_at, last_updated_at)
      select facility_id, gen_random_uuid(), location_id, id, 'player', ${start}, ${start} + interval '30 minutes',
        now(), now()
      from (select facility_id, location_id, id from bay
        where facility_id = '${facilityId(1)}' and id = '${bayId(bay)}' and bookable for no key update) locked
      on conflict on constraint booking_no_overlap do nothing`;
    writeFileSync(file, `\\set n :n + 1\n${statement.replaceAll('\n', ' ')};\n`);
    // A number of transactions for each client. A duration would include the time in which the clients connect.
    const load = ['--client', `${hotBayClients}`, '--transactions', `${40 * seconds}`, '--file', file];
    const command = ['pgbench', '--no-vacuum', '--protocol', 'prepared', '--define', 'n=0', ...load, databaseUrl];
    const { stdout } = await execute('taskset', ['-c', String(serviceCore), ...command]);
    const numberIn = (pattern: RegExp) => Number(pattern.exec(stdout)?.[1]);
    const requests = numberIn(/actually processed: (\d+)/);
    return { ...withoutTimes, requests, rate: numberIn(/tps = ([\d.]+)/) };
  };
  return { operation: 'hot-bay', target: 'pgbench', prepare: async (seconds) => () => run(seconds) };
}
