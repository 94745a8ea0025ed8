import { preset } from '../testkit/jest/preset.js';

export default { ...preset };
