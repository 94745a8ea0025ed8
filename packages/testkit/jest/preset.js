// Defines the jest configuration of every workspace: ES modules, a transform that removes TypeScript types with Node's
// `stripTypeScriptTypes`, and a reporter that counts tests.
import { fileURLToPath } from 'node:url';

const here = (file) => fileURLToPath(new URL(file, import.meta.url));

export const preset = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': here('./strip-types.js') },
  testMatch: ['<rootDir>/test/**/*.test.ts', '<rootDir>/src/**/*.test.ts'],
  // Loads the module jose before each test file. setup.js states the reason.
  setupFiles: [here('./setup.js')],
  reporters: ['default', here('./reporter.js')],
  injectGlobals: false,
  restoreMocks: true,
  testTimeout: 120_000,
};

// Workspaces whose tests need PostgreSQL add these options to the preset. All test files of a run use one server, and
// each file creates its own database on that server (packages/testkit/src/database.ts).
export const withPostgres = {
  globalSetup: here('./global-setup.ts'),
  globalTeardown: here('./global-teardown.ts'),
};

// The tests of an app use two workers, and leave out the slow groups unless `npm run test:all` sets TEST_GROUPS=all.
export const fastGroups = {
  maxWorkers: 2,
  testPathIgnorePatterns:
    process.env.TEST_GROUPS === 'all' ? [] : ['<rootDir>/test/(conformance|browser|load|faults)/'],
};
