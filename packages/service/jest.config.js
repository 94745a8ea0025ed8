import { preset, withPostgres } from '../testkit/jest/preset.js';

export default { ...preset, ...withPostgres };
