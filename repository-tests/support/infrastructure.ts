// Finds the environment variables that an app reads, for the tests of docker-compose.yml and the Kubernetes manifests.
import { read } from '@bay-booking/testkit/repository';

// biome-ignore lint/suspicious/noExplicitAny: parsed YAML and JSON of many kinds, read by path
export type Document = any;

/** In config.ts, the names of environment variables are string literals in upper case, except NODE_ENV. */
export const variablesOf = (app: string): ReadonlySet<string> =>
  new Set([
    'NODE_ENV',
    ...[...read(`apps/${app}/src/config.ts`).matchAll(/'([A-Z][A-Z_]{3,})'/g)].map((match) => match[1] as string),
  ]);
