import { groups, preset } from '../packages/testkit/jest/preset.js';

// Other files are slow: they use the browser, run commands of documents, or stop and start services.
const fast = 'client/(?!examples|package)|(generated-files|openapi).test.ts';

export default {
  ...preset,
  ...groups(`<rootDir>/(?!${fast})`),
  testMatch: ['<rootDir>/**/*.test.ts'],
  // Many tests wait for a condition, such as the restart of a service, so three use two cores well.
  maxWorkers: 3,
  // A test starts several processes. With ten runnable processes per core, this takes minutes.
  testTimeout: 300_000,
  globalSetup: '<rootDir>/jest/global-setup.ts',
  globalTeardown: '<rootDir>/jest/global-teardown.ts',
  // The condition `@bay-booking/source` selects the source of packages/client, which is not built in this repository.
  testEnvironmentOptions: { customExportConditions: ['@bay-booking/source', 'node', 'node-addons'] },
};
