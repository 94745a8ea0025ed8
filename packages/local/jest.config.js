import { groups, preset } from '../testkit/jest/preset.js';

export default { ...preset, ...groups('<rootDir>/test/start.test.ts') };
