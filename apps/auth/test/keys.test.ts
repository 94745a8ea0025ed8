// Contract section 6, "Signing keys": encrypted in the database, rotated with no restart and no failed request.
import { createDecipheriv } from 'node:crypto';
import { connectDatabase } from '@bay-booking/service/database/database';
import { type FormBrowser, openFormBrowser } from '@bay-booking/testkit/form-browser';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { createKeyStore, WrongEncryptionKey } from '../src/signing-keys/store.ts';
import { type AuthServer, audience, encryptionKey, scopes, startAuthServer } from './auth-server.ts';
import { authorizeUrl, passThrough, webCallback } from './flows.ts';

const secret = Buffer.from(encryptionKey, 'base64');
let server: AuthServer;
let keys: ReturnType<typeof createKeyStore>;
beforeEach(async () => {
  server = await startAuthServer();
  keys = createKeyStore({ db: server.db, encryptionKey: secret });
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
const stateOf = async () => Object.groupBy(await keys.list(), ({ state }) => state);
/** Instead of waiting: the key's hour has come. */
const makeDue = () =>
  server
    .db('signing_key')
    .where({ state: 'next' })
    .update({ signs_from: server.db.raw('now()') });

test('the first start makes an ES256 key for access tokens and an RS256 key for id_tokens', async () => {
  const { current = [] } = await stateOf();
  expect(current.map(({ alg }) => alg)).toEqual(['ES256', 'RS256']);
  expect(await published()).toHaveLength(2);
});

test('instances that start together make one set of keys', async () => {
  await server.db('signing_key').delete();
  const stores = Array.from({ length: 6 }, () => connectDatabase({ url: server.databaseUrl, applicationName: 'k' }));
  await Promise.all(stores.map((db) => createKeyStore({ db, encryptionKey: secret }).ensure()));
  await Promise.all(stores.map((db) => db.destroy()));
  expect(await keys.list()).toHaveLength(2);
});

describe('at rest', () => {
  test('another KEY_ENCRYPTION_KEY takes over while instances that have the old one sign on', async () => {
    const next = createKeyStore({ db: server.db, encryptionKey: Buffer.alloc(32, 9) });
    const before = await keys.load();
    await keys.reseal(Buffer.alloc(32, 9));
    expect((await next.load()).map(({ privateJwk }) => privateJwk)).toEqual(before.map(({ privateJwk }) => privateJwk));
    await expect(keys.load()).rejects.toThrow(WrongEncryptionKey);
    await server.auth.refreshKeys().catch(() => {});
    expect(await published()).toContain(kidOf(await token()));
  });

  test('the private part is AES-256-GCM under KEY_ENCRYPTION_KEY, bound to its own row', async () => {
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

  test('another KEY_ENCRYPTION_KEY is told so, by name', async () => {
    const wrong = createKeyStore({ db: server.db, encryptionKey: Buffer.alloc(32, 8) });
    await expect(wrong.load()).rejects.toThrow(WrongEncryptionKey);
    await expect(wrong.load()).rejects.toThrow(/^KEY_ENCRYPTION_KEY /);
  });
});

describe('rotation', () => {
  test('publishes the next key before it signs, then it signs, and the old one stays until its last token has expired', async () => {
    const other = await server.another();
    const before = kidOf(await token());
    await keys.rotate(3600);
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

    const retired = (await stateOf()).retired?.find(({ kid }) => kid === before);
    const kept = Number(retired?.deleteAfter) - Number(retired?.retiredAt);
    expect(kept).toBeGreaterThanOrEqual(3600_000);
    await server
      .db('signing_key')
      .where({ kid: before })
      .update({ delete_after: server.db.raw('now()') });
    await server.auth.refreshKeys();
    expect(await published()).not.toContain(before);
    expect(kidOf(await token())).toBe(after);
  });

  test('keeps the old key as long as the longest ACCESS_TOKEN_TTL of any instance', async () => {
    await keys.noteTtl(86_400);
    await keys.noteTtl(60);
    await keys.rotate(0);
    await keys.advance();
    const { retired = [] } = await stateOf();
    for (const { deleteAfter, retiredAt } of retired) {
      expect(Number(deleteAfter) - Number(retiredAt)).toBeGreaterThanOrEqual(86_400_000);
    }
  });

  test('asked twice, or by two at once, makes one next key of each kind', async () => {
    await Promise.all([keys.rotate(3600), keys.rotate(3600), keys.rotate(3600)]);
    expect((await stateOf()).next).toHaveLength(2);
  });

  test('while clients fetch tokens from two instances: not one refusal, and every token verifies everywhere', async () => {
    const other = await server.another();
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
      await keys.rotate(3600);
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

  test('a retired key that leaked can be removed at once, a signing one cannot', async () => {
    const before = String(kidOf(await token()));
    expect(await keys.remove(before)).toBe(false);
    await keys.rotate(0);
    await keys.advance();
    expect(await keys.remove(before)).toBe(true);
    await server.auth.refreshKeys();
    expect(await published()).not.toContain(before);
  });
});

describe('COOKIE_KEYS', () => {
  const old = 'test-cookie-key-of-32-characters-or-more';
  const request = { response_type: 'code', client_id: 'demo-web', redirect_uri: webCallback, scope: scopes.play };
  const landing = async (browser: FormBrowser, origin: string) =>
    (await browser.open(authorizeUrl(server, request).replace(server.origin, origin))).url.origin;

  test('rotate: a session of the old key goes on while the old key stands second, and ends when it is dropped', async () => {
    const overlapping = await server.another({ COOKIE_KEYS: `${'n'.repeat(32)},${old}` });
    const renewed = await server.another({ COOKIE_KEYS: 'n'.repeat(32) });
    const sites = [server.origin, overlapping.origin, renewed.origin];
    const browser = openFormBrowser(sites);
    await passThrough(browser, await browser.open(authorizeUrl(server, request)));
    expect(await landing(browser, overlapping.origin)).toBe('http://localhost:4010');
    expect(await landing(browser, renewed.origin)).toBe('http://localhost:4010');
    const stranger = openFormBrowser(sites);
    await passThrough(stranger, await stranger.open(authorizeUrl(server, request)));
    expect(await landing(stranger, renewed.origin)).toBe(renewed.origin);
  });
});
