import { fastGroups, preset, withPostgres } from '../../packages/testkit/jest/preset.js';

export default { ...preset, ...withPostgres, ...fastGroups };
