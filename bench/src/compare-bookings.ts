// Compares the bookings service with other servers, which get the same requests and tokens and use the same database. A
// floor is a minimal server, which shows the lowest possible cost. A peer has the same endpoints, but uses another
// framework. Before the measurement, this file checks that every server returns the same responses as the service.
import { deepStrictEqual } from 'node:assert';
import { createTestIssuer } from '@bay-booking/testkit/issuer';
import { bookingOperations, removeCreated } from './booking-operations.ts';
import { baseUrl, scope, startBookings, startPeer } from './bookings-service.ts';
import type { Child } from './child.ts';
import { type Dataset, facilityIds } from './dataset.ts';
import { measure, type Operation, type Sample, serviceCore, type Target } from './measure.ts';
import { onDatabase } from './server.ts';

export interface CompareOptions {
  readonly databaseUrl: string;
  readonly postmaster: number | undefined;
  readonly dataset: Dataset;
  readonly folder: string;
  readonly rounds: number;
  readonly seconds: number;
  /** The names of the measured operations. An empty list stands for all operations. */
  readonly only: readonly string[];
  /** The names of the floors and peers. An empty list stands for all of them. */
  readonly targetNames: readonly string[];
  /** The folder for a CPU profile of the service. */
  readonly profile: string | undefined;
  readonly log: (line: string) => void;
}

const peers = ['bare', 'fastify', 'express'];

export async function compareBookings(options: CompareOptions): Promise<Sample[]> {
  const { databaseUrl, postmaster, dataset, rounds, seconds, only, targetNames, profile, log } = options;
  const issuer = await createTestIssuer({ audience: baseUrl });
  const children: Child[] = [];
  try {
    return await onDatabase(databaseUrl, async (client) => {
      await removeCreated(client);
      const facilities = Math.min(25, dataset.facilities);
      const token = await issuer.token({ facilities: facilityIds(facilities), scope, exp: inOneDay() });
      const all = await bookingOperations({ ...options, client, token, facilities });
      const operations = all.filter(({ name }) => only.length === 0 || only.includes(name));
      const targets: Target[] = [];
      const add = async (name: string, starting: Promise<Child>) => {
        const child = await starting;
        children.push(child);
        targets.push({ name, ...child });
      };
      const start = { databaseUrl, issuer, core: serviceCore };
      const nodeFlags = profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : [];
      // The first start fills the compile cache, which the image of the service contains in production. The service
      // that is measured then starts with a filled cache.
      await (await startBookings(start)).stop();
      await add('service', startBookings({ ...start, nodeFlags }));
      const wanted = (name: string) => targetNames.length === 0 || targetNames.includes(name);
      for (const peer of peers.filter(wanted)) await add(peer, startPeer(peer, start));
      const responses = await compareResponses(targets, token, operations);
      if (wanted('constant')) await add('constant', startPeer('constant', start, { responses }));
      const samples: Sample[] = [];
      for (const operation of operations) {
        samples.push(...(await measure({ operation, targets, rounds, seconds, postmaster, log })));
      }
      await removeCreated(client);
      return samples;
    });
  } finally {
    await Promise.all(children.map((child) => child.stop()));
    await issuer.close();
  }
}

export const inOneDay = () => Math.floor(Date.now() / 1000) + 86_400;

/**
 * Checks that all targets return the same response to the first request of each operation. Returns these responses,
 * which the target `constant` sends.
 */
async function compareResponses(targets: readonly Target[], token: string, operations: readonly Operation[]) {
  const responses: Record<string, { status: number; body: string }> = {};
  for (const { name, load } of operations) {
    const { script, args } = await load(targets[0] as Target, 0);
    if (script !== 'get.lua') continue;
    const { readFileSync } = await import('node:fs');
    const path = readFileSync(args[1] ?? '', 'utf8').split('\n', 1)[0] ?? '';
    const bodies = await Promise.all(targets.map(({ url }) => get(`${url}${path}`, token)));
    for (const [index, body] of bodies.entries()) {
      deepStrictEqual(
        comparable(body.body),
        comparable(bodies[0]?.body ?? ''),
        `${targets[index]?.name} returns another response to ${name}`,
      );
    }
    responses[name] = bodies[0] as { status: number; body: string };
  }
  const single = responses.get ?? { status: 200, body: '{}' };
  return { ...responses, create: { ...single, status: 201 }, update: single };
}

async function get(url: string, token: string): Promise<{ status: number; body: string }> {
  const response = await fetch(url, { headers: { Authorization: `Bearer ${token}` } });
  const body = await response.text();
  if (!response.ok) throw new Error(`${url} returned ${response.status}: ${body.slice(0, 300)}`);
  return { status: response.status, body };
}

/** Removes the links to other pages, because the query parameters of a peer may be in another order. */
function comparable(text: string): object {
  const body = JSON.parse(text) as { items?: object[]; total?: number };
  return body.items ? { items: body.items, total: body.total } : body;
}
