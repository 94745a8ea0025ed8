import { preset, withPostgres } from './jest/preset.js';

export default { ...preset, ...withPostgres };
