import { app } from '../../packages/testkit/jest/preset.js';

export default { ...app, testMatch: [...app.testMatch, '<rootDir>/day-sheet/**/*.test.ts'] };
