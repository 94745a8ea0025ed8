// Measures how many events an instance delivers to five webhooks, and how many are late while one receiver hangs.
import { setTimeout as sleep } from 'node:timers/promises';
import { createOperation } from './booking-operations.ts';
import { callApi } from './bookings.ts';
import { bays, facilityId } from './dataset.ts';
import { otherCore } from './machine.ts';
import {
  measureInTurn,
  type Result,
  type RunOptions,
  type Sample,
  type Target,
  withoutTimes,
  wrkRunner,
} from './measure.ts';
import { startProgram } from './processes.ts';

const receivers = 5;

interface Setup {
  readonly service: Target;
  readonly token: string;
  readonly receiver: Target;
}

export async function measureWebhooks(
  services: readonly Target[],
  token: string,
  options: RunOptions,
): Promise<Sample[]> {
  const receiver = await startProgram('webhook-receiver', {}, otherCore);
  const runners = services.flatMap((service) => {
    const setup = { service, token, receiver };
    const runner = { target: service.name, pid: service.pid };
    return [
      { ...runner, operation: 'webhooks', run: (seconds: number) => measureDeliveries(setup, seconds) },
      { ...runner, operation: 'webhooks-in-time', run: (seconds: number) => measureShareInTime(setup, seconds) },
    ];
  });
  return measureInTurn(runners, options).finally(receiver.stop);
}

/** The replay sends an event for every change of a facility. These are enough events for the measurement. */
async function measureDeliveries(setup: Setup, seconds: number): Promise<Result> {
  const { token, receiver } = setup;
  return withWebhooks(setup, Array(receivers).fill('/hook'), async (webhooks) => {
    const body = { facilityId: facilityId(1), afterChangeNumber: 0 };
    for (const url of webhooks) await callApi(`${url}/replay`, token, 'POST', body);
    await until(async () => (await readStats(receiver)).received > 0);
    const start = performance.now();
    await sleep(seconds * 1_000);
    const { received } = await readStats(receiver);
    return { ...withoutTimes, requests: received, rate: (received / (performance.now() - start)) * 1_000 };
  });
}

/** Returns as `rate` the share of the events that arrive within two seconds at the receivers that respond. */
async function measureShareInTime(setup: Setup, seconds: number): Promise<Result> {
  const { service, token, receiver } = setup;
  const create = { ...createOperation(token, bays(1)), script: 'create-slowly.lua', connections: 1 };
  return withWebhooks(setup, ['/hang', ...Array(receivers - 1).fill('/hook')], async () => {
    await until(async () => (await readStats(receiver)).received === 0);
    const { requests } = await wrkRunner('create', service, create).run(seconds);
    const expected = requests * (receivers - 1);
    // An event that arrives later than this is late.
    await sleep(2_500);
    const { received, late } = await readStats(receiver);
    // A delivery can be repeated, and wrk does not count the last booking.
    const inTime = Math.min(received, expected) - late;
    return { ...withoutTimes, requests: received, rate: inTime / expected };
  });
}

/** Runs `measure` with the addresses of new webhooks, which send their events to these paths of the receiver. */
async function withWebhooks(
  { service, token, receiver }: Setup,
  paths: readonly string[],
  measure: (webhooks: readonly string[]) => Promise<Result>,
): Promise<Result> {
  const webhooks: string[] = [];
  for (const path of paths) {
    const { id } = await callApi(`${service.url}/api/webhooks`, token, 'POST', { url: receiver.url + path });
    webhooks.push(`${service.url}/api/webhooks/${id}`);
  }
  const result = await measure(webhooks);
  for (const url of webhooks) await callApi(url, token, 'DELETE');
  return result;
}

/** Returns the events since the last call. */
const readStats = async ({ url }: Target): Promise<{ received: number; late: number }> =>
  (await (await fetch(`${url}/stats`)).json()) as { received: number; late: number };

async function until(condition: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 30_000;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error('the webhooks did not reach the expected state within 30 s');
    await sleep(100);
  }
}
