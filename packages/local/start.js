// Checks the version of Node.js, then runs src/main.ts.
import '../service/check-node.js';

await import('./src/main.ts');
