import { fastGroups, preset, withPostgres } from '../../packages/testkit/jest/preset.js';

export default {
  ...preset,
  ...withPostgres,
  ...fastGroups,
  testMatch: [...preset.testMatch, '<rootDir>/day-sheet/**/*.test.ts'],
};
