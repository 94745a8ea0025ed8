import { preset } from '../packages/testkit/jest/preset.js';

export default {
  ...preset,
  testMatch: ['<rootDir>/**/*.test.ts'],
  // `@bay-booking/source` is the source of packages/client, which has no build in this repository.
  testEnvironmentOptions: { customExportConditions: ['@bay-booking/source', 'node', 'node-addons'] },
};
