// Extends jest's environment for Node with `loadOnce`, which packages/testkit/src/load-once.ts describes.
import { TestEnvironment } from 'jest-environment-node';

export default class extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.global.loadOnce = (url) => import(url);
  }
}
