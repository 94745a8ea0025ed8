// Tests how long the use of a code or refresh token counts as in progress. During this time, another use of the same
// code or token is a concurrent use. Afterwards, it is a replay.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, jest, test } from '@jest/globals';
import { exportJWK, generateKeyPair } from 'jose';
import { type Adapter, Provider } from 'oidc-provider';
import { createConcurrentUse } from './concurrent-use.ts';

/** Makes Jest replace only the clock `performance`, and no other clocks and timers. */
const fakePerformanceClock = () =>
  jest.useFakeTimers({
    doNotFake: [
      'Date',
      'hrtime',
      'nextTick',
      'queueMicrotask',
      'setImmediate',
      'clearImmediate',
      'setInterval',
      'clearInterval',
      'setTimeout',
      'clearTimeout',
    ],
  });

test('a use whose response is not written counts as in progress for 5 s, and not longer', async () => {
  const concurrentUse = createConcurrentUse();
  const response = Promise.withResolvers<void>();
  const consumed = Promise.withResolvers<void>();
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  let isConcurrent: boolean | undefined;
  // The provider calls this function to look up the client of each token request. The test uses the call to simulate
  // the use of a token. The client `first` consumes the token, and gets its response only when the test resolves
  // `response`. Meanwhile, the clients `second` and `third` use the same token. The function finds no client, so all
  // responses are errors, which does not matter for this test.
  const find = async (clientId: string): Promise<undefined> => {
    if (clientId === 'first') {
      // The returned row means that the token was not consumed before.
      await concurrentUse.consume('token', async () => [{}]);
      consumed.resolve();
      await response.promise;
    }
    const consumedAt = 0; // This time matters only for a use at another instance.
    isConcurrent = concurrentUse.isConcurrent('token', consumedAt);
  };
  const provider = new Provider('http://127.0.0.1', {
    adapter: () => ({ find }) as unknown as Adapter,
    jwks: { keys: [(await exportJWK(privateKey)) as never] },
    cookies: { keys: ['a-cookie-key-of-32-characters-or-more'] },
    features: { devInteractions: { enabled: false } },
  });
  concurrentUse.registerMiddleware(provider);
  const server = createServer(provider.callback()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  /** Sends a token request on a new connection, so that the request counts as arrived when the connection is opened. */
  const send = async (clientId: string): Promise<void> => {
    const { port } = server.address() as AddressInfo;
    const body = new URLSearchParams({ grant_type: 'refresh_token', client_id: clientId });
    await fetch(`http://127.0.0.1:${port}/token`, { method: 'POST', body, headers: { Connection: 'close' } });
  };
  fakePerformanceClock();
  try {
    const first = send('first');
    await consumed.promise;
    jest.advanceTimersByTime(4_900);
    await send('second');
    expect(isConcurrent).toBe(true);
    jest.advanceTimersByTime(200);
    await send('third');
    expect(isConcurrent).toBe(false);
    response.resolve();
    await first;
  } finally {
    jest.useRealTimers();
    response.resolve();
    server.close();
  }
});
