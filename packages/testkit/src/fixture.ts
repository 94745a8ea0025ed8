// Starts a fixture, such as a server, before the tests of a file and closes it after them.
import { afterAll, beforeAll } from '@jest/globals';

/**
 * Returns an object that receives the properties of the fixture before the first test runs. `timeoutMs` limits the
 * start and the closing. Default: the `testTimeout` of the jest configuration.
 */
export function useFixture<Fixture extends { close(): Promise<unknown> }>(
  start: () => Promise<Fixture>,
  timeoutMs?: number,
): Fixture {
  const fixture = {} as Fixture;
  let started: Fixture | undefined;
  beforeAll(async () => {
    started = await start();
    Object.assign(fixture, started);
  }, timeoutMs);
  afterAll(() => started?.close(), timeoutMs);
  return fixture;
}
