// Tests that signing keys are encrypted in the database and rotate without a restart and without a failed request
// (docs/behaviour-auth.md, "Signing keys"). Also tests the rotation of the keys that sign cookies.
import { useFixture } from '@bay-booking/testkit/fixture';
import { fieldOf, openFormBrowser } from '@bay-booking/testkit/form-browser';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import type { KeyStore } from '../src/signing-keys/store.ts';
import {
  audience,
  basic,
  connectDatabase,
  createKeyStore,
  encryptionKey,
  patForm,
  startAuthServer,
  WrongEncryptionKey,
} from './auth-server.ts';
import { player } from './flows.ts';

const secret = Buffer.from(encryptionKey, 'base64');
const server = useFixture(() => startAuthServer());
let store: KeyStore;
// Each test begins with the keys of a first start.
beforeEach(async () => {
  store = createKeyStore({ db: server.db, encryptionKeys: [secret] });
  await server.db('signing_key').delete();
  await store.ensureCurrentKeys();
  await server.auth.refreshKeys();
});

/** Returns the ids of the published keys. Expects that no key has a private member (`d` or `p`). */
const publishedKids = async (origin = server.origin): Promise<string[]> => {
  const response = await fetch(`${origin}/connect/jwks`);
  const { keys } = (await response.json()) as { keys: { kid: string; d?: string; p?: string }[] };
  expect(keys.every((key) => key.d === undefined && key.p === undefined)).toBe(true);
  return keys.map(({ kid }) => kid);
};
const getToken = async (origin = server.origin): Promise<string> => {
  const response = await fetch(`${origin}/connect/token`, { method: 'POST', body: new URLSearchParams(patForm) });
  expect(response.status).toBe(200);
  return ((await response.json()) as { access_token: string }).access_token;
};
const kidOf = (jwt: string) => decodeProtectedHeader(jwt).kid;
const keysByState = async () => Object.groupBy(await store.list(), ({ state }) => state);
/** Makes the next keys sign from now on, without waiting for the publish delay. */
const makeNextKeysDue = () => server.db.raw("update signing_key set signs_from = now() where state = 'next'");

test('instances that start at the same time create one set of keys', async () => {
  await server.db('signing_key').delete();
  const databases = Array.from({ length: 6 }, () => connectDatabase({ url: server.databaseUrl, applicationName: 'k' }));
  await Promise.all(databases.map((db) => createKeyStore({ db, encryptionKeys: [secret] }).ensureCurrentKeys()));
  await Promise.all(databases.map((db) => db.destroy()));
  expect(await store.list()).toHaveLength(2);
});

describe('the encryption of signing keys', () => {
  test('KEY_ENCRYPTION_KEY can be changed while instances with the old key continue to sign', async () => {
    const newEncryptionKey = Buffer.alloc(32, 9);
    const storeWithNewKey = createKeyStore({ db: server.db, encryptionKeys: [newEncryptionKey] });
    const before = await store.load();
    await store.reencrypt(newEncryptionKey);
    const after = await storeWithNewKey.load();
    expect(after.map(({ privateJwk }) => privateJwk)).toEqual(before.map(({ privateJwk }) => privateJwk));
    await expect(store.load()).rejects.toThrow(WrongEncryptionKey);
    // The server has the old encryption key, so it cannot load the signing keys again. It continues to sign with the
    // keys that it has already loaded.
    await server.auth.refreshKeys().catch(() => {});
    expect(await publishedKids()).toContain(kidOf(await getToken()));
  });

  test('KEY_ENCRYPTION_KEY=old,new and then new,old changes the key without a restart between', async () => {
    const [old, added] = [encryptionKey, Buffer.alloc(32, 9).toString('base64')];
    const before = await getToken();
    const expectSameKey = async (KEY_ENCRYPTION_KEY: string) => {
      const instance = await server.startInstance({ KEY_ENCRYPTION_KEY });
      expect(kidOf(await getToken(instance.origin))).toBe(kidOf(before));
      await instance.close();
    };
    // Every value works at the same time as the one before, while the keys are encrypted with either key.
    for (const value of [`${old},${added}`, `${added},${old}`]) await expectSameKey(value);
    const both = createKeyStore({ db: server.db, encryptionKeys: [Buffer.alloc(32, 9), secret] });
    await both.reencrypt(Buffer.alloc(32, 9));
    for (const value of [`${old},${added}`, added]) await expectSameKey(value);
  });

  // packages/service/src/secret-box.test.ts tests the encryption itself.
  test('the private key is stored encrypted, and bound to its key id', async () => {
    const [row, other] = await server.db('signing_key');
    const { privateJwk } = (await store.load()).find(({ kid }) => kid === row.kid) ?? {};
    // A P-256 key has 32 private bytes, and an RSA key more.
    expect(privateJwk).toMatchObject({ d: expect.stringMatching(/^[\w-]{43,}$/) });
    expect(JSON.stringify(row)).not.toContain(String((privateJwk as { d?: string }).d));
    const { private_jwk_encrypted } = other;
    await server.db('signing_key').where({ kid: row.kid }).update({ private_jwk_encrypted });
    await expect(store.load()).rejects.toThrow(WrongEncryptionKey);
  });
});

describe('the rotation of signing keys', () => {
  test('a new key is published before it signs, and the old key until its last token has expired', async () => {
    const otherInstance = await server.startInstance();
    const oldKid = kidOf(await getToken());
    // Creates next keys, which are published now and sign after 3600 s.
    await store.rotate(3600);
    await Promise.all([server.auth.refreshKeys(), otherInstance.auth.refreshKeys()]);
    // Each of the two algorithms has a current key and a next key.
    expect(await publishedKids()).toHaveLength(4);
    expect(await publishedKids(otherInstance.origin)).toEqual(await publishedKids());
    expect(kidOf(await getToken())).toBe(oldKid);

    const tokenOfOldKey = await getToken();
    await makeNextKeysDue();
    await Promise.all([server.auth.refreshKeys(), otherInstance.auth.refreshKeys()]);
    const newKid = kidOf(await getToken());
    expect(newKid).not.toBe(oldKid);
    expect(kidOf(await getToken(otherInstance.origin))).toBe(newKid);
    expect(await publishedKids()).toContain(oldKid);
    const jwks = createRemoteJWKSet(new URL(`${otherInstance.origin}/connect/jwks`));
    await expect(jwtVerify(tokenOfOldKey, jwks, { audience })).resolves.toBeDefined();

    const retired = (await keysByState()).retired?.find(({ kid }) => kid === oldKid);
    // Access tokens are valid for 3600 s by default.
    const publishedMs = Number(retired?.deleteAfter) - Number(retired?.retiredAt);
    expect(publishedMs).toBeGreaterThanOrEqual(3600_000);
    await server.db('signing_key').where({ kid: oldKid }).update('delete_after', new Date());
    await server.auth.refreshKeys();
    expect(await publishedKids()).not.toContain(oldKid);
    expect(kidOf(await getToken())).toBe(newKid);
  });

  test('the old key stays published for the longest ACCESS_TOKEN_TTL of all instances', async () => {
    await store.recordTokenLifetime(86_400);
    await store.recordTokenLifetime(60);
    // Without a delay, `advance` immediately lets the new keys sign, and retires the old keys.
    await store.rotate(0);
    await store.advance();
    const { retired = [] } = await keysByState();
    expect(retired).not.toHaveLength(0);
    for (const { deleteAfter, retiredAt } of retired)
      expect(Number(deleteAfter) - Number(retiredAt)).toBeGreaterThanOrEqual(86_400_000);
  });

  test('several rotations at the same time create one next key for each algorithm', async () => {
    await Promise.all([store.rotate(3600), store.rotate(3600), store.rotate(3600)]);
    expect((await keysByState()).next).toHaveLength(2);
  });

  test('a retired key can be deleted, not one that signs, and every instance then rejects its tokens', async () => {
    const otherInstance = await server.startInstance();
    const jwt = await getToken();
    const introspect = async (origin: string) => {
      const response = await fetch(`${origin}/connect/introspect`, {
        method: 'POST',
        body: new URLSearchParams({ token: jwt }),
        headers: basic('demo-web', 'demo-web-secret'),
      });
      return ((await response.json()) as { active: boolean }).active;
    };
    const errorOfUserinfo = async (origin: string) => {
      const response = await fetch(`${origin}/connect/userinfo`, { headers: { Authorization: `Bearer ${jwt}` } });
      return ((await response.json()) as { error: string }).error;
    };
    for (const { origin } of [server, otherInstance]) {
      expect(await introspect(origin)).toBe(true);
      // The token is valid, but has no scope `openid`.
      expect(await errorOfUserinfo(origin)).toBe('insufficient_scope');
    }
    expect(await store.deleteRetired(kidOf(jwt) ?? '')).toBe(false);
    await store.rotate(0);
    await store.advance();
    expect(await store.deleteRetired(kidOf(jwt) ?? '')).toBe(true);
    for (const { origin, auth } of [server, otherInstance]) {
      await auth.refreshKeys();
      expect(await publishedKids(origin)).not.toContain(kidOf(jwt));
      expect(await introspect(origin)).toBe(false);
      expect(await errorOfUserinfo(origin)).toBe('invalid_token');
    }
  });
});

// The steps of docs/operations/configure.md, "Rotation of secrets". In each step, one browser uses two instances.
describe('the rotation of COOKIE_KEYS', () => {
  const oldKey = 'old-'.padEnd(40, 'o');
  const newKey = 'new-'.padEnd(40, 'n');
  /** The values of COOKIE_KEYS in the order of the rotation. The first key signs, and all keys verify. */
  const steps = {
    'old key': oldKey,
    'old key, new key': `${oldKey},${newKey}`,
    'new key, old key': `${newKey},${oldKey}`,
  } as const;
  type Step = keyof typeof steps;

  /** For each step, the origin of the instance that runs with the COOKIE_KEYS of this step. */
  const origins = {} as Record<Step, string>;
  beforeAll(async () => {
    for (const [step, COOKIE_KEYS] of Object.entries(steps))
      origins[step as Step] = (await server.startInstance({ COOKIE_KEYS })).origin;
  });

  /**
   * Loads the sign-in form from the first instance, sends the form to the second instance, and opens "Your account" at
   * the first instance. Returns the statuses: 303 means that the form was accepted, and 200 that the user is signed in.
   */
  async function signInAcross(first: Step, second: Step) {
    const browser = openFormBrowser(Object.values(origins));
    const page = await browser.open(`${origins[first]}/sign-in`);
    // All instances have the issuer of `server`, so they accept only forms with this origin.
    const sent = await fetch(`${origins[second]}/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      headers: { Cookie: browser.cookieHeader(), Origin: server.origin },
      body: new URLSearchParams({ csrf: fieldOf(page, 'csrf') ?? '', ...player }),
    });
    const cookies = sent.headers.getSetCookie().map((cookie) => cookie.split(';')[0]);
    const headers = { Cookie: cookies.join('; ') };
    const account = await fetch(`${origins[first]}/account`, { redirect: 'manual', headers });
    return { form: sent.status, session: account.status };
  }

  test.each([
    ['old key', 'old key, new key'],
    ['old key, new key', 'old key'],
    ['old key, new key', 'new key, old key'],
    ['new key, old key', 'old key, new key'],
  ] as const)(
    'instances with COOKIE_KEYS="%s" and COOKIE_KEYS="%s" accept each other’s forms and sessions',
    async (first, second) => {
      expect(await signInAcross(first, second)).toEqual({ form: 303, session: 200 });
    },
  );

  test('an instance rejects a session that was signed with a key that is not in its COOKIE_KEYS', async () => {
    // The second instance accepts the form, but signs the session with the new key. The first instance does not have
    // this key, so it redirects the request with the session to the sign-in page.
    expect(await signInAcross('old key', 'new key, old key')).toEqual({ form: 303, session: 303 });
  });
});
