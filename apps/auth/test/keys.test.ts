// Tests that signing keys are encrypted in the database and rotate without a restart and without a failed request
// (docs/behaviour.md, "Signing keys").
import { createDecipheriv } from 'node:crypto';
import { connectDatabase } from '@bay-booking/service/database/database';
import { type FormBrowser, openFormBrowser } from '@bay-booking/testkit/form-browser';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { WrongEncryptionKey } from '../src/signing-keys/encryption.ts';
import { createKeySchedule, type KeySchedule } from '../src/signing-keys/schedule.ts';
import { createKeyStore, type KeyStore } from '../src/signing-keys/store.ts';
import { type AuthServer, audience, basic, encryptionKey, eventually, scopes, startAuthServer } from './auth-server.ts';
import { authorizeUrl, signInAndConsent, webCallback } from './flows.ts';

const secret = Buffer.from(encryptionKey, 'base64');
let server: AuthServer;
let store: KeyStore;
let schedule: KeySchedule;
beforeEach(async () => {
  server = await startAuthServer();
  store = createKeyStore({ db: server.db, encryptionKey: secret });
  schedule = createKeySchedule(store);
});
afterEach(() => server.close());

const published = async (origin = server.origin): Promise<string[]> => {
  const response = await fetch(`${origin}/connect/jwks`);
  const { keys: found } = (await response.json()) as { keys: { kid: string; d?: string; p?: string }[] };
  expect(found.every((key) => key.d === undefined && key.p === undefined)).toBe(true);
  return found.map(({ kid }) => kid);
};
const token = async (origin = server.origin): Promise<string> => {
  const response = await fetch(`${origin}/connect/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: 'demo-pat-north',
      client_secret: 'demo-pat-north-secret',
      scope: scopes.bookings,
    }),
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { access_token: string }).access_token;
};
const kidOf = (jwt: string) => decodeProtectedHeader(jwt).kid;
const keysByState = async () => Object.groupBy(await store.list(), ({ state }) => state);
/** Makes the next keys sign from now on. */
const makeDue = () =>
  server
    .db('signing_key')
    .where({ state: 'next' })
    .update({ signs_from: server.db.raw('now()') });

test('the first start creates an ES256 and an RS256 key', async () => {
  const { current = [] } = await keysByState();
  expect(current.map(({ alg }) => alg)).toEqual(['ES256', 'RS256']);
  expect(await published()).toHaveLength(2);
});

test('instances that start at the same time create one set of keys', async () => {
  await server.db('signing_key').delete();
  const databases = Array.from({ length: 6 }, () => connectDatabase({ url: server.databaseUrl, applicationName: 'k' }));
  await Promise.all(
    databases.map((db) => createKeySchedule(createKeyStore({ db, encryptionKey: secret })).ensureCurrentKeys()),
  );
  await Promise.all(databases.map((db) => db.destroy()));
  expect(await store.list()).toHaveLength(2);
});

describe('encryption', () => {
  test('KEY_ENCRYPTION_KEY can be changed while instances with the old key continue to sign', async () => {
    const next = createKeyStore({ db: server.db, encryptionKey: Buffer.alloc(32, 9) });
    const before = await store.load();
    await store.reencrypt(Buffer.alloc(32, 9));
    expect((await next.load()).map(({ privateJwk }) => privateJwk)).toEqual(before.map(({ privateJwk }) => privateJwk));
    await expect(store.load()).rejects.toThrow(WrongEncryptionKey);
    await server.auth.refreshKeys().catch(() => {});
    expect(await published()).toContain(kidOf(await token()));
  });

  test('the private part is encrypted with AES-256-GCM and bound to its key id', async () => {
    const [row] = await server.db('signing_key').where({ alg: 'ES256' });
    const [, nonce, sealed] = row.private_jwk_encrypted
      .split('.')
      .map((part: string) => Buffer.from(part, 'base64url'));
    const open = (aad: string) => {
      const decipher = createDecipheriv('aes-256-gcm', secret, nonce).setAAD(Buffer.from(aad));
      decipher.setAuthTag(sealed.subarray(-16));
      return Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]).toString();
    };
    const { d } = JSON.parse(open(row.kid));
    expect(d).toMatch(/^[\w-]{43}$/);
    expect(JSON.stringify(row)).not.toContain(d);
    expect(() => open('another-kid')).toThrow();
  });

  test('a wrong KEY_ENCRYPTION_KEY gives an error that names the variable', async () => {
    const wrong = createKeyStore({ db: server.db, encryptionKey: Buffer.alloc(32, 8) });
    await expect(wrong.load()).rejects.toThrow(WrongEncryptionKey);
    await expect(wrong.load()).rejects.toThrow(/^KEY_ENCRYPTION_KEY /);
  });
});

describe('rotation', () => {
  test('a key is published before it signs, and until the last token that it signed has expired', async () => {
    const other = await server.startInstance();
    const before = kidOf(await token());
    await schedule.rotate(3600);
    await Promise.all([server.auth.refreshKeys(), other.auth.refreshKeys()]);
    expect(await published()).toHaveLength(4);
    expect(await published(other.origin)).toEqual(await published());
    expect(kidOf(await token())).toBe(before);

    const live = await token();
    await makeDue();
    await Promise.all([server.auth.refreshKeys(), other.auth.refreshKeys()]);
    const after = kidOf(await token());
    expect(after).not.toBe(before);
    expect(kidOf(await token(other.origin))).toBe(after);
    expect(await published()).toContain(before);
    const jwks = createRemoteJWKSet(new URL(`${other.origin}/connect/jwks`));
    await expect(jwtVerify(live, jwks, { audience })).resolves.toBeDefined();

    const retired = (await keysByState()).retired?.find(({ kid }) => kid === before);
    const publishedFor = Number(retired?.deleteAfter) - Number(retired?.retiredAt);
    expect(publishedFor).toBeGreaterThanOrEqual(3600_000);
    await server
      .db('signing_key')
      .where({ kid: before })
      .update({ delete_after: server.db.raw('now()') });
    await server.auth.refreshKeys();
    expect(await published()).not.toContain(before);
    expect(kidOf(await token())).toBe(after);
  });

  test('the old key stays published for the longest ACCESS_TOKEN_TTL of all instances', async () => {
    await store.recordTokenLifetime(86_400);
    await store.recordTokenLifetime(60);
    await schedule.rotate(0);
    await schedule.advance();
    const { retired = [] } = await keysByState();
    for (const { deleteAfter, retiredAt } of retired) {
      expect(Number(deleteAfter) - Number(retiredAt)).toBeGreaterThanOrEqual(86_400_000);
    }
  });

  test('several rotations at the same time create one next key for each algorithm', async () => {
    await Promise.all([schedule.rotate(3600), schedule.rotate(3600), schedule.rotate(3600)]);
    expect((await keysByState()).next).toHaveLength(2);
  });

  test('no token request fails during rotations, and every instance verifies every token', async () => {
    const other = await server.startInstance();
    let running = true;
    const kids = new Set<string | undefined>();
    const fetching = [server.origin, other.origin, server.origin, other.origin].map(async (origin, index) => {
      const verifier = [server.origin, other.origin][index % 2] as string;
      while (running) {
        const jwt = await token(origin);
        const jwks = createRemoteJWKSet(new URL(`${verifier}/connect/jwks`));
        await jwtVerify(jwt, jwks, { audience, issuer: server.origin });
        kids.add(kidOf(jwt));
      }
    });
    for (let rotation = 0; rotation < 3; rotation += 1) {
      await schedule.rotate(3600);
      await Promise.all([server.auth.refreshKeys(), other.auth.refreshKeys()]);
      await makeDue();
      await server.auth.refreshKeys();
      await token();
      await other.auth.refreshKeys();
      await token(other.origin);
    }
    running = false;
    await Promise.all(fetching);
    expect(kids.size).toBeGreaterThanOrEqual(3);
  });

  test('a retired key can be deleted immediately, and a signing key cannot be deleted', async () => {
    const before = String(kidOf(await token()));
    expect(await store.deleteRetired(before)).toBe(false);
    await schedule.rotate(0);
    await schedule.advance();
    expect(await store.deleteRetired(before)).toBe(true);
    await server.auth.refreshKeys();
    expect(await published()).not.toContain(before);
  });

  test('every instance rejects the tokens of a removed key within seconds', async () => {
    const other = await server.startInstance();
    const jwt = await token();
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
    for (const { origin } of [server, other]) {
      expect(await introspect(origin)).toBe(true);
      expect(await errorOfUserinfo(origin)).toBe('insufficient_scope');
    }
    await schedule.rotate(0);
    await schedule.advance();
    expect(await store.deleteRetired(kidOf(jwt) ?? '')).toBe(true);
    for (const { origin } of [server, other]) {
      await eventually(async () => !(await introspect(origin)));
      expect(await errorOfUserinfo(origin)).toBe('invalid_token');
    }
  });
});

describe('COOKIE_KEYS', () => {
  const old = 'test-cookie-key-of-32-characters-or-more';
  const request = { response_type: 'code', client_id: 'demo-web', redirect_uri: webCallback, scope: scopes.play };
  const openAuthorizeUrl = async (browser: FormBrowser, origin: string) =>
    (await browser.open(authorizeUrl(server, request).replace(server.origin, origin))).url.origin;

  test('a session stays valid while its key is listed second, and ends when the key is removed', async () => {
    const overlapping = await server.startInstance({ COOKIE_KEYS: `${'n'.repeat(32)},${old}` });
    const renewed = await server.startInstance({ COOKIE_KEYS: 'n'.repeat(32) });
    const sites = [server.origin, overlapping.origin, renewed.origin];
    const browser = openFormBrowser(sites);
    await signInAndConsent(browser, await browser.open(authorizeUrl(server, request)));
    expect(await openAuthorizeUrl(browser, overlapping.origin)).toBe('http://localhost:4010');
    expect(await openAuthorizeUrl(browser, renewed.origin)).toBe('http://localhost:4010');
    const otherBrowser = openFormBrowser(sites);
    await signInAndConsent(otherBrowser, await otherBrowser.open(authorizeUrl(server, request)));
    expect(await openAuthorizeUrl(otherBrowser, renewed.origin)).toBe(renewed.origin);
  });
});
