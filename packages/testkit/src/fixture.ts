// Starts a fixture, such as a server, before the tests of a file and closes it after them.
import { afterAll, beforeAll } from '@jest/globals';

/** Returns an object that receives the properties of the fixture before the first test runs. */
export function useFixture<Fixture extends { close(): Promise<unknown> }>(start: () => Promise<Fixture>): Fixture {
  const fixture = {} as Fixture;
  let started: Fixture | undefined;
  beforeAll(async () => {
    started = await start();
    Object.assign(fixture, started);
  });
  afterAll(() => started?.close());
  return fixture;
}
