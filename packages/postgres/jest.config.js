import { groups, preset } from '../testkit/jest/preset.js';

export default { ...preset, ...groups('<rootDir>/test/server.test.ts') };
