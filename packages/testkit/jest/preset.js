// What every workspace's jest.config.js spreads: ESM, Node's own type stripping, and a report that .ci/run adds up.
import { fileURLToPath } from 'node:url';

const here = (file) => fileURLToPath(new URL(file, import.meta.url));

export const preset = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': here('./strip-types.js') },
  testMatch: ['<rootDir>/test/**/*.test.ts', '<rootDir>/src/**/*.test.ts'],
  // jwks-rsa require()s the ESM-only jose: loading it first keeps jest from calling that a cycle.
  setupFiles: [here('./setup.js')],
  reporters: ['default', here('./reporter.js')],
  injectGlobals: false,
  restoreMocks: true,
  testTimeout: 30_000,
};

// For the workspaces whose tests need a PostgreSQL server: one per run, see packages/testkit/src/database.ts.
export const withPostgres = {
  globalSetup: here('./global-setup.ts'),
  globalTeardown: here('./global-teardown.ts'),
};
