// Extends jest's environment for Node with `loadOnce`, which packages/testkit/src/load-once.ts describes.
import { flushCompileCache } from 'node:module';
import { TestEnvironment } from 'jest-environment-node';

// Jest waits 500 ms for the end of a worker process. Freeing the memory of all test files takes longer, and
// `process.exit` leaves that to the operating system.
process.once('beforeExit', () => {
  flushCompileCache();
  process.exit();
});

export default class extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.global.loadOnce = (url) => import(url);
  }
}
