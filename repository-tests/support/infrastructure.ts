// Defines parsed documents and finds the environment variables of the apps, for the tests of compose and Kubernetes.
import { read } from '@bay-booking/testkit/repository';

// biome-ignore lint/suspicious/noExplicitAny: parsed YAML and JSON of many kinds, read by path
export type Document = any;

const readElsewhere = ['NODE_ENV'];

/** The environment variables that an app reads. */
export const variablesOf = (app: string): ReadonlySet<string> =>
  new Set([
    ...readElsewhere,
    ...[...read(`apps/${app}/src/config.ts`).matchAll(/'([A-Z][A-Z_]{3,})'/g)].map((match) => match[1] as string),
  ]);
