// Tests how packages/client gets, renews and presents access tokens.
import {
  type BookingsClientOptions,
  BookingsConnectionError,
  BookingsTokenError,
  createBookingsClient,
} from '@bay-booking/client';
import { eventually } from '@bay-booking/testkit/wait';
import { describe, expect, jest, test } from '@jest/globals';
import { decodeJwt, exportJWK, generateKeyPair } from 'jose';
import { northToken, useClientSystem } from '../support/client-system.ts';
import { runCommand } from '../support/commands.ts';
import { getToken } from '../support/test-system.ts';

const system = useClientSystem();

/** Returns a `fetch` that records its requests. Before each request, `onRequest` may change the headers. */
function recordingFetch(onRequest: (url: string, headers: Headers) => void = () => {}) {
  const requests: { path: string; headers: Headers; body: unknown }[] = [];
  const record: typeof globalThis.fetch = (input, init) => {
    const url = new URL(String(input));
    const headers = new Headers(init?.headers);
    onRequest(url.pathname, headers);
    requests.push({ path: url.pathname, headers, body: init?.body });
    return fetch(input, { ...init, headers });
  };
  return { fetch: record, requests, to: (path: string) => requests.filter((request) => request.path === path) };
}

/** Requests a location with a new client, which must first get a token. Returns the id of the location. */
const getLocation = async (options?: Partial<BookingsClientOptions>) =>
  (await system.createClient(options).locations.get('loc-north-1')).id;

describe('client credentials', () => {
  test('the issuer and one scope come from the metadata of the API, also if it lists several scopes', async () => {
    const base = 'https://bay-booking.example/golf';
    const requested: (string | null)[] = [];
    const fetchWithScopes: typeof globalThis.fetch = async (input, init) => {
      if (String(input).endsWith('/connect/token'))
        requested.push(new URLSearchParams(String(init?.body)).get('scope'));
      const response = await fetch(input, init);
      if (!String(input).endsWith('/.well-known/oauth-protected-resource')) return response;
      const metadata = (await response.json()) as object;
      const scopes = ['bookings.read', 'bookings', 'schedule'].map((name) => `${base}/${name}`);
      return Response.json({ ...metadata, scopes_supported: scopes });
    };
    await getLocation({ fetch: fetchWithScopes });
    const auth = { ...northToken, scope: 'golf/bookings' };
    await getLocation({ fetch: fetchWithScopes, auth });
    const refused = getLocation({ fetch: fetchWithScopes, auth: { ...northToken, scope: `${base}/none` } });
    await expect(refused).rejects.toThrow(BookingsTokenError);
    expect(requested).toEqual([`${base}/bookings`, `${base}/bookings`, `${base}/none`]);
  });

  test('with issuer and scope in the options, the client does not request the metadata of the API', async () => {
    const { fetch, to } = recordingFetch();
    const scope = 'https://bay-booking.example/golf/bookings';
    expect(await getLocation({ fetch, auth: { ...northToken, issuer: system.auth.base, scope } })).toBe('loc-north-1');
    expect(to('/.well-known/oauth-protected-resource')).toEqual([]);
  });

  test('parallel requests share one token, which is renewed in the last minute before it expires', async () => {
    const { fetch, to } = recordingFetch();
    const client = system.createClient({ fetch });
    await Promise.all(Array.from({ length: 10 }, () => client.locations.get('loc-north-1')));
    expect(to('/connect/token')).toHaveLength(1);
    // The client renews a token in its last minute. A token is valid for 3600 s, so its last minute begins 3540 s after
    // the client got it. Jest restores the clock after each test.
    const now = Date.now();
    jest.spyOn(Date, 'now').mockReturnValue(now + 3_500_000);
    await client.locations.get('loc-north-1');
    expect(to('/connect/token')).toHaveLength(1);
    jest.spyOn(Date, 'now').mockReturnValue(now + 3_545_000);
    await client.locations.get('loc-north-1');
    // The request uses the old token. The client renews the token in the background.
    await eventually(async () => to('/connect/token').length === 2);
  });

  test('a token that has not expired is used while the authorization server is unavailable', async () => {
    const { fetch, to } = recordingFetch();
    const client = system.createClient({ fetch, retry: { maxAttempts: 1 } });
    await client.locations.get('loc-north-1');
    await system.auth.stop('SIGKILL');
    const now = Date.now();
    // Ten seconds before the token expires, the client uses it, and tries in vain to renew it.
    jest.spyOn(Date, 'now').mockReturnValue(now + 3_590_000);
    expect((await client.locations.get('loc-north-1')).id).toBe('loc-north-1');
    await eventually(async () => to('/connect/token').length === 2);
    // The client does not use a token in its last three seconds.
    jest.spyOn(Date, 'now').mockReturnValue(now + 3_599_000);
    const error = await client.locations.get('loc-north-1').catch((thrown) => thrown);
    expect(error).toMatchObject({ name: 'BookingsTokenError', cause: { name: 'BookingsConnectionError' } });
    await system.restartAuth();
    expect((await client.locations.get('loc-north-1')).id).toBe('loc-north-1');
  });

  test('a client renews its token after a 401 and repeats the request', async () => {
    let apiRequests = 0;
    const { fetch, to } = recordingFetch((path, headers) => {
      if (path.startsWith('/api/') && apiRequests++ === 0) headers.set('Authorization', 'Bearer not-a-token');
    });
    expect(await getLocation({ fetch })).toBe('loc-north-1');
    expect(to('/connect/token')).toHaveLength(2);
    expect(to('/api/booking-locations/loc-north-1')).toHaveLength(2);
  });

  test('a request fails with status 401 when the service also rejects the renewed token', async () => {
    const { fetch, to } = recordingFetch((path, headers) => {
      if (path.startsWith('/api/')) headers.set('Authorization', 'Bearer not-a-token');
    });
    const error = await getLocation({ fetch }).catch((thrown) => thrown);
    expect(error).toMatchObject({ name: 'BookingsApiError', status: 401 });
    expect(to('/api/booking-locations/loc-north-1')).toHaveLength(2);
  });

  test('a wrong secret fails without a retry, with the error of the authorization server', async () => {
    const { fetch, to } = recordingFetch();
    const auth = { ...northToken, clientSecret: 'wrong' };
    const error = await getLocation({ fetch, auth }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(BookingsTokenError);
    expect(error).toMatchObject({ error: 'invalid_client', response: { status: 401 } });
    expect(to('/connect/token')).toHaveLength(1);
  });

  test('the error for a scope that is not allowed names the scopes that are', async () => {
    const auth = { clientId: 'demo-pat-north-read', clientSecret: 'demo-pat-north-read-secret' };
    const error = await getLocation({ auth }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(BookingsTokenError);
    expect(error).toMatchObject({ error: 'invalid_scope' });
    expect(error.message).toMatch(/which may request: https:\/\/bay-booking\.example\/golf\/bookings\.read$/);
    expect(await getLocation({ auth: { ...auth, scope: 'golf/bookings.read' } })).toBe('loc-north-1');
  });

  test('the option facilities limits the token to these facilities', async () => {
    const { fetch, to } = recordingFetch();
    await getLocation({ fetch, auth: { ...northToken, facilities: ['fac-north'] } });
    expect(String(to('/connect/token')[0]?.body)).toContain('facility=fac-north');
  });
});

describe('private_key_jwt and DPoP', () => {
  /** Registers a client with a new key. Returns the private key. */
  async function importKeyClient(clientId: string) {
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    const client = {
      client_id: clientId,
      grant_types: ['client_credentials'],
      scope: 'https://bay-booking.example/golf/bookings',
      token_endpoint_auth_method: 'private_key_jwt',
      dpop_bound_access_tokens: true,
      jwks: { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig', kid: 'key-1' }] },
    };
    const environment = { DATABASE_URL: system.database.ownerUrlOf('auth') };
    await runCommand('auth', environment, 'import.ts', JSON.stringify({ clients: [client] }));
    // The type of the exported key does not guarantee `kty`, which the option `privateKey` requires.
    return { ...(await exportJWK(privateKey)), kty: 'EC', kid: 'key-1' };
  }

  test('a client with a registered key gets tokens that are bound to a new key, and presents them with proofs', async () => {
    const privateKey = await importKeyClient('key-client');
    const { fetch, to } = recordingFetch();
    const client = system.createClient({ fetch, auth: { clientId: 'key-client', privateKey, dpop: true } });
    // The client has no service account, so its tokens name no facility.
    expect(await client.locations.list().toArray()).toEqual([]);
    expect(await client.bookings.search().toArray()).toEqual([]);
    const [request] = to('/api/booking-locations');
    const [scheme, token = ''] = request?.headers.get('authorization')?.split(' ') ?? [];
    expect(scheme).toBe('DPoP');
    expect(request?.headers.get('dpop')).toMatch(/^ey/);
    expect(decodeJwt(token).cnf).toEqual({ jkt: expect.any(String) });
    expect(to('/connect/token')).toHaveLength(1);
  });

  test('a token can be bound to a key of the caller, and the service rejects the token without a proof of the key', async () => {
    const dpop = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign', 'verify']);
    const { fetch, to } = recordingFetch();
    expect(await getLocation({ fetch, auth: { ...northToken, dpop } })).toBe('loc-north-1');
    const [request] = to('/api/booking-locations/loc-north-1');
    const token = request?.headers.get('authorization')?.replace('DPoP ', '') ?? '';
    expect(await getLocation({ auth: { getAccessToken: () => token, dpop } })).toBe('loc-north-1');
    await expect(getLocation({ auth: () => token })).rejects.toMatchObject({ status: 401 });
  });
});

describe('a function that returns a token', () => {
  test('the function is called with renew: true after a 401', async () => {
    const calls: boolean[] = [];
    const auth = async ({ renew }: { renew: boolean }) => {
      calls.push(renew);
      return renew ? getToken(system.auth.base) : 'expired';
    };
    expect(await getLocation({ auth })).toBe('loc-north-1');
    expect(calls).toEqual([false, true]);
  });

  test('the function is called again after it has thrown a BookingsConnectionError', async () => {
    let calls = 0;
    const auth = async () => {
      if (calls++ === 0) throw new BookingsConnectionError('no network');
      return getToken(system.auth.base);
    };
    expect(await getLocation({ auth })).toBe('loc-north-1');
    expect(calls).toBe(2);
  });

  test('an error that the function throws becomes the cause of a BookingsTokenError', async () => {
    const cause = new Error('signed out');
    const auth = () => Promise.reject(cause);
    await expect(getLocation({ auth })).rejects.toMatchObject({ name: 'BookingsTokenError', cause });
  });
});

test('an http address of another machine is rejected, unless allowInsecureHttp is set', () => {
  const creating = (options: Partial<BookingsClientOptions>) => () =>
    createBookingsClient({ baseUrl: 'https://bookings.example', auth: northToken, ...options });
  expect(creating({ baseUrl: 'http://bookings.example' })).toThrow('is not https');
  expect(creating({ auth: { ...northToken, issuer: 'http://auth.example' } })).toThrow('is not https');
  expect(creating({ baseUrl: 'http://bookings.example', allowInsecureHttp: true })).not.toThrow();
  expect(creating({})).not.toThrow();
});

test('a secret is not sent to an issuer without https that the metadata of the API names', async () => {
  const requested: string[] = [];
  const fetch: typeof globalThis.fetch = async (input) => {
    requested.push(String(input));
    return Response.json({
      resource: system.baseUrl,
      authorization_servers: ['http://auth.example'],
      scopes_supported: ['https://bay-booking.example/golf/bookings'],
    });
  };
  await expect(getLocation({ fetch })).rejects.toThrow('http://auth.example is not https');
  expect(requested).toEqual([`${system.baseUrl}/.well-known/oauth-protected-resource`]);
});
