// Starts the bookings service for a measurement. As in production, environment variables configure the service, and the
// service writes its access log. The log is discarded here. All targets have the same BASE_URL, so that their responses
// can be compared.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@bay-booking/postgres/ports';
import { type Child, startChild } from './child.ts';

export const baseUrl = 'http://bookings.bench.example';
export const scopeBase = 'https://bay-booking.example';
export const scope = `${scopeBase}/golf/bookings`;

export interface IssuerAddress {
  readonly url: string;
  readonly jwksUri: string;
}

export interface ServiceOptions {
  readonly databaseUrl: string;
  readonly issuer: IssuerAddress;
  /** The number of the CPU core on which the process runs. Undefined: any core. */
  readonly core: number | undefined;
  /** The folder of another release. Default: this repository. */
  readonly release?: string | undefined;
  readonly nodeFlags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

export const thisRelease = fileURLToPath(new URL('../..', import.meta.url));

export async function startBookings(options: ServiceOptions): Promise<Child> {
  const { databaseUrl, issuer, core, release = thisRelease, nodeFlags = [], environment = {} } = options;
  const port = await freePort();
  const folder = join(release, 'apps/bookings');
  return startChild({
    name: 'bookings',
    // `startChild` runs the script `start` of this package.json.
    script: join(folder, 'package.json'),
    cwd: folder,
    env: {
      DATABASE_URL: databaseUrl,
      BASE_URL: baseUrl,
      AUTH_ISSUER: issuer.url,
      AUTH_JWKS_URI: issuer.jwksUri,
      SCOPE_BASE: scopeBase,
      PORT: String(port),
      ...environment,
    },
    core,
    port,
    readyPath: '/health/ready',
    nodeFlags,
  });
}

/** Starts a program of `targets/`, to which the service is compared. `more` are further options of the program. */
export async function startPeer(
  name: string,
  { databaseUrl, issuer, core }: Pick<ServiceOptions, 'databaseUrl' | 'issuer' | 'core'>,
  more: object = {},
): Promise<Child> {
  const port = await freePort();
  const options = {
    port,
    databaseUrl,
    jwksUri: issuer.jwksUri,
    issuer: issuer.url,
    audience: baseUrl,
    scope,
    baseUrl,
    ...more,
  };
  return startChild({
    name,
    script: fileURLToPath(new URL(`targets/${name}.ts`, import.meta.url)),
    args: [JSON.stringify(options)],
    core,
    port,
    readyPath: '/ready',
  });
}
