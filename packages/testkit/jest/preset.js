// Defines the jest configuration of every workspace: ES modules, a transform that removes TypeScript types with Node's
// `stripTypeScriptTypes`, and a reporter that counts tests.
import { fileURLToPath } from 'node:url';

const here = (file) => fileURLToPath(new URL(file, import.meta.url));

export const preset = {
  testEnvironment: here('./environment.js'),
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

/**
 * Selects the fast or the slow tests of a workspace. `slow` is a regular expression for the paths of the slow files.
 * TEST_GROUPS is `fast` by default; `npm run test:slow` sets `slow`, and `npm run test:all` of a workspace sets `all`.
 */
export const groups = (slow) => {
  const ignored = { fast: [slow], slow: [`^(?!${slow})`], all: [] };
  return { testPathIgnorePatterns: ignored[process.env.TEST_GROUPS ?? 'fast'], passWithNoTests: true };
};

/** The options of both apps. */
export const app = {
  ...preset,
  ...withPostgres,
  ...groups('<rootDir>/test/(conformance|browser|load|faults)/'),
  resolver: here('./resolver.js'),
  maxWorkers: 2,
};
