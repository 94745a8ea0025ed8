// Compares the bookings service with its peers: other servers, which get the same requests and tokens. `bare`
// (node:http and pg only), `fastify` and `express` use the same database. `constant` only sends stored responses, and
// so shows the lowest possible cost. Before the measurement, this file checks that all peers except `constant` return
// the same bodies to GET requests as the service.
import { deepStrictEqual } from 'node:assert';
import { readFileSync } from 'node:fs';
import { createTestIssuer } from '@bay-booking/testkit/issuer';
import { bookingOperations, removeCreated } from './booking-operations.ts';
import { baseUrl, scope, startBookings, startPeer } from './bookings-service.ts';
import { type Child, profileFlags } from './child.ts';
import { type Dataset, facilitiesInToken, facilityIds } from './dataset.ts';
import { measure, type Operation, type Sample, type ServiceRunOptions, serviceCore, type Target } from './measure.ts';
import { onDatabase } from './server.ts';

export interface CompareOptions extends ServiceRunOptions {
  readonly dataset: Dataset;
  /** The names of the servers with which the service is compared. An empty list stands for all of them. */
  readonly targetNames: readonly string[];
}

/** The peers that use the database. */
const databasePeers = ['bare', 'fastify', 'express'];

export async function compareBookings(options: CompareOptions): Promise<Sample[]> {
  const { databaseUrl, dataset, only, targetNames, profile } = options;
  const issuer = await createTestIssuer({ audience: baseUrl });
  const children: Child[] = [];
  try {
    return await onDatabase(databaseUrl, async (client) => {
      await removeCreated(client);
      const facilities = facilitiesInToken(dataset);
      const token = await issuer.token({ facilities: facilityIds(facilities), scope, exp: inOneDay() });
      const allOperations = await bookingOperations({ ...options, client, token, facilities });
      const operations = allOperations.filter(({ name }) => only.length === 0 || only.includes(name));
      const targets: Target[] = [];
      const add = async (name: string, starting: Promise<Child>) => {
        const child = await starting;
        children.push(child);
        targets.push({ name, ...child });
      };
      const start = { databaseUrl, issuer, core: serviceCore };
      // The first start fills the compile cache. The measured service then starts with a filled cache. This is also the
      // case in production, where the image of the service contains the cache.
      await (await startBookings(start)).stop();
      await add('service', startBookings({ ...start, nodeFlags: profileFlags(profile) }));
      const isWanted = (name: string) => targetNames.length === 0 || targetNames.includes(name);
      for (const peer of databasePeers.filter(isWanted)) await add(peer, startPeer(peer, start));
      const responses = await compareResponses(targets, token, operations);
      if (isWanted('constant')) await add('constant', startPeer('constant', start, { responses }));
      const samples: Sample[] = [];
      for (const operation of operations) samples.push(...(await measure({ ...options, operation, targets })));
      await removeCreated(client);
      return samples;
    });
  } finally {
    await Promise.all(children.map((child) => child.stop()));
    await issuer.close();
  }
}

/** Returns the `exp` of a token that expires in one day, in seconds since 1970. */
export const inOneDay = () => Math.floor(Date.now() / 1000) + 86_400;

/**
 * Checks that all targets return the same body to the first request of each GET operation. Returns the responses that
 * the target `constant` sends. For a GET operation, this is the response of the service. For `create` and `update`, the
 * response contains the booking that the service returned for the operation `get`.
 */
async function compareResponses(targets: readonly Target[], token: string, operations: readonly Operation[]) {
  // The service is always the first target.
  const [service] = targets as [Target];
  const firstRound = 0;
  const responses: Record<string, { status: number; body: string }> = {};
  for (const { name, load } of operations) {
    // `load` returns the script of the load generator and its arguments.
    const { script, args } = await load(service, firstRound);
    // Only the responses to GET are compared, because the responses to requests that write always differ. `args[1]` is
    // the file with the paths of the GET requests.
    if (script !== 'get.lua') continue;
    const path = readFileSync(args[1] ?? '', 'utf8').split('\n', 1)[0] ?? '';
    const [first = { status: 0, body: '' }, ...others] = await Promise.all(
      targets.map(({ url }) => get(`${url}${path}`, token)),
    );
    for (const [index, { body }] of others.entries()) {
      const message = `${targets[index + 1]?.name} returns another response to ${name}`;
      deepStrictEqual(comparableBody(body), comparableBody(first.body), message);
    }
    responses[name] = first;
  }
  // The response to `get` contains a booking, so it also serves as the response to `create` and `update`. If `get` is
  // not measured, their response is an empty object.
  const booking = responses.get ?? { status: 200, body: '{}' };
  return { ...responses, create: { ...booking, status: 201 }, update: booking };
}

async function get(url: string, token: string): Promise<{ status: number; body: string }> {
  const response = await fetch(url, { headers: { Authorization: `Bearer ${token}` } });
  const body = await response.text();
  if (!response.ok) throw new Error(`${url} returned ${response.status}: ${body.slice(0, 300)}`);
  return { status: response.status, body };
}

/** Leaves out the links to other pages, because a peer may write their query parameters in another order. */
function comparableBody(text: string): object {
  const body = JSON.parse(text) as { items?: object[]; total?: number };
  return body.items ? { items: body.items, total: body.total } : body;
}
