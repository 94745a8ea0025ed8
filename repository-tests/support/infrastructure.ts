// Finds the environment variables that an app reads, for the tests of docker-compose.yml and the Kubernetes manifests.
// Also defines the type of the parsed documents.
import { read } from '@bay-booking/testkit/repository';

// biome-ignore lint/suspicious/noExplicitAny: parsed YAML and JSON of many kinds, read by path
export type Document = any;

/**
 * Returns the names of the environment variables that the app reads: NODE_ENV, and all string literals in upper case in
 * config.ts.
 */
export const variablesOf = (app: string): ReadonlySet<string> =>
  new Set([
    'NODE_ENV',
    ...[...read(`apps/${app}/src/config.ts`).matchAll(/'([A-Z][A-Z_]{3,})'/g)].map((match) => match[1] as string),
  ]);
