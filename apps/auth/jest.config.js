import { app } from '../../packages/testkit/jest/preset.js';

export default { ...app };
