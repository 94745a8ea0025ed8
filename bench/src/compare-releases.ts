// Compares the Bookings API and the token endpoint of this release with those of an older release, which runs from a
// git worktree.
import { startAuth } from './auth-service.ts';
import type { Child } from './child.ts';
import { compareServices } from './compare-services.ts';
import { clientCredentials, refresh } from './compare-tokens.ts';
import type { Dataset } from './dataset.ts';
import { loadDataset } from './load.ts';
import { measure, type RunOptions, type Sample, serviceCore, type Target } from './measure.ts';
import type { MeasuredServer } from './server.ts';

export interface CompareReleasesOptions extends RunOptions {
  /** The folder of the older release, with its node_modules. */
  readonly before: string;
  readonly server: MeasuredServer;
  readonly dataset: Dataset;
  /** The names of the measured operations. An empty list stands for all operations. */
  readonly only: readonly string[];
}

const bookingOperations = ['get', 'search', 'upcoming', 'create', 'create-external', 'update'];

export async function compareReleases(options: CompareReleasesOptions): Promise<Sample[]> {
  const { before, server, dataset, only, log } = options;
  const wants = (name: string): boolean => only.length === 0 || only.includes(name);
  const samples: Sample[] = [];
  const bookings = bookingOperations.filter(wants);
  if (bookings.length > 0) {
    const databaseUrl = await server.database(`bookings_${dataset.bookings}`);
    const databaseBefore = await server.database(`bookings_before_${dataset.bookings}`);
    await loadDataset(databaseUrl, dataset, log);
    await loadDataset(databaseBefore, dataset, log, before);
    const services = [
      { name: 'service', dataset, databaseUrl },
      { name: 'before', dataset, databaseUrl: databaseBefore, release: before },
    ];
    samples.push(...(await compareServices({ ...options, services, only: bookings, prefix: 'release' })));
  }
  if (wants('client-credentials') || wants('refresh')) samples.push(...(await compareTokenEndpoints(options)));
  return samples;
}

async function compareTokenEndpoints(options: CompareReleasesOptions): Promise<Sample[]> {
  const { before, server, only, folder } = options;
  const children: Child[] = [];
  const targets: Target[] = [];
  const add = async (name: string, database: string, release?: string): Promise<void> => {
    const databaseUrl = await server.database(database);
    const child = await startAuth({ databaseUrl, folder, core: serviceCore, release });
    children.push(child);
    targets.push({ name, ...child });
  };
  try {
    await add('service', 'auth');
    await add('before', 'auth_before', before);
    const samples: Sample[] = [];
    for (const operation of [clientCredentials(), refresh(folder)]) {
      if (only.length > 0 && !only.includes(operation.name)) continue;
      const named = { ...operation, name: `release ${operation.name}` };
      samples.push(...(await measure({ ...options, operation: named, targets })));
    }
    return samples;
  } finally {
    await Promise.all(children.map((child) => child.stop()));
  }
}
