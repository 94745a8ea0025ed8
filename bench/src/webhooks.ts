// Measures how many events an instance delivers to five webhooks.
import { setTimeout as sleep } from 'node:timers/promises';
import { callApi } from './bookings.ts';
import { facilityId } from './dataset.ts';
import { type Result, type Runner, type Target, withoutTimes } from './measure.ts';

const receivers = 5;
const everything = { facilityId: facilityId(1), afterChangeNumber: 0 };

/** `receiver` is the program targets/webhook-receiver.ts, and `token` names the first facility. */
export function webhookRunner(service: Target, receiver: Target, token: string): Runner {
  const countReceived = async () => (await callApi<{ received: number }>(`${receiver.url}/stats`, token)).received;
  /** The replay sends an event for every change of a facility. These are enough events for the measurement. */
  async function measureDeliveries(seconds: number): Promise<Result> {
    const webhooks: string[] = [];
    for (let n = 0; n < receivers; n++) {
      const { id } = await callApi(`${service.url}/api/webhooks`, token, 'POST', { url: `${receiver.url}/hook` });
      webhooks.push(`${service.url}/api/webhooks/${id}`);
    }
    for (const url of webhooks) await callApi(`${url}/replay`, token, 'POST', everything);
    while ((await countReceived()) === 0) await sleep(100);
    await sleep(seconds * 1_000);
    const received = await countReceived();
    for (const url of webhooks) await callApi(url, token, 'DELETE');
    return { ...withoutTimes, requests: received, rate: received / seconds };
  }
  const prepare = async (seconds: number) => () => measureDeliveries(seconds);
  return { operation: 'webhooks', target: service.name, pid: service.pid, prepare };
}
