import { preset } from '../packages/testkit/jest/preset.js';

export default { ...preset, testMatch: ['<rootDir>/**/*.test.ts'] };
