// Measures how many events an instance delivers to five webhooks, and how many are late while one receiver hangs.
import { setTimeout as sleep } from 'node:timers/promises';
import { createOperation } from './booking-operations.ts';
import { callApi } from './bookings.ts';
import { bays, facilityId } from './dataset.ts';
import { type Result, type Runner, type Target, withoutTimes, wrkRunner } from './measure.ts';

const receivers = 5;
const everything = { facilityId: facilityId(1), afterChangeNumber: 0 };

/** `receiver` is the program targets/webhook-receiver.ts, and `token` names the first facility. */
export function webhookRunners(service: Target, receiver: Target, token: string): Runner[] {
  /** Runs `measure` with the addresses of new webhooks, which send their events to these paths of the receiver. */
  async function withWebhooks(paths: readonly string[], measure: (webhooks: readonly string[]) => Promise<Result>) {
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
  const readStats = () => callApi<{ received: number; late: number }>(`${receiver.url}/stats`, token);

  /** The replay sends an event for every change of a facility. These are enough events for the measurement. */
  const measureDeliveries = (seconds: number): Promise<Result> =>
    withWebhooks(Array(receivers).fill('/hook'), async (webhooks) => {
      for (const url of webhooks) await callApi(`${url}/replay`, token, 'POST', everything);
      while ((await readStats()).received === 0) await sleep(100);
      await sleep(seconds * 1_000);
      const { received } = await readStats();
      return { ...withoutTimes, requests: received, rate: received / seconds };
    });

  const create = { ...createOperation(token, bays(1)), script: 'create-slowly.lua', connections: 1 };
  /** Returns as `rate` the share of the events that arrive within two seconds at the receivers that respond. */
  const measureShareInTime = (seconds: number) =>
    withWebhooks(['/hang', ...Array(receivers - 1).fill('/hook')], async () => {
      while ((await readStats()).received > 0) await sleep(100);
      const runLoad = await wrkRunner('create', service, create).prepare(seconds);
      const { requests } = await runLoad();
      const expected = requests * (receivers - 1);
      // An event that arrives later than this is late.
      await sleep(2_500);
      const { received, late } = await readStats();
      // A delivery can be repeated, and wrk does not count the last booking.
      const inTime = Math.min(received, expected) - late;
      return { ...withoutTimes, requests: received, rate: inTime / expected };
    });

  const runner = { target: service.name, pid: service.pid };
  return [
    { ...runner, operation: 'webhooks', prepare: async (seconds) => () => measureDeliveries(seconds) },
    { ...runner, operation: 'webhooks-in-time', prepare: async (seconds) => () => measureShareInTime(seconds) },
  ];
}
