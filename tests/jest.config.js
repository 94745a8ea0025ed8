import { preset } from '../packages/testkit/jest/preset.js';

export default {
  ...preset,
  testMatch: ['<rootDir>/**/*.test.ts'],
  maxWorkers: 2,
  // The condition `@bay-booking/source` selects the source of packages/client, which is not built in this repository.
  testEnvironmentOptions: { customExportConditions: ['@bay-booking/source', 'node', 'node-addons'] },
};
