// Contract section 2, "Import files": an upsert by id, all or nothing, with the path of each fault.
import { connectDatabase } from '@bay-booking/service/database/database';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ImportDocument, ImportError, readImportDocument } from '../src/import/document.ts';
import { importDocument } from '../src/import/importer.ts';
import { createClientCheck } from '../src/oidc/client-validation.ts';
import { type AuthServer, answerOf, scopes, startAuthServer } from './auth-server.ts';
import { demoDocument } from './demo-document.ts';

let server: AuthServer;
beforeAll(async () => {
  server = await startAuthServer();
});
afterAll(() => server.close());

const load = (document: unknown) => server.load(readImportDocument(JSON.stringify(document)));
const faultsOf = async (document: unknown): Promise<readonly string[]> => {
  try {
    await load(document);
  } catch (error) {
    if (error instanceof ImportError) return error.faults;
    throw error;
  }
  return [];
};
const everything = async () => {
  const tables = ['facility', 'account', 'membership', 'client', 'client_secret'];
  const rows = await Promise.all(tables.map((table) => server.db(table).orderBy(1 as never)));
  return JSON.stringify(rows);
};
const token = (id: string, secret: string) =>
  server.post('/connect/token', {
    grant_type: 'client_credentials',
    client_id: id,
    client_secret: secret,
    scope: scopes.bookings,
  });

describe('faults name their path and change nothing', () => {
  test.each<[string, unknown, string[]]>([
    ['no JSON object', [], ['/: must be object']],
    ['a part that is not known', { people: [] }, ['/people: is not known']],
    ['a missing field', { facilities: [{ id: 'f' }] }, ['/facilities/0/name: is missing']],
    [
      'several faults, all at once',
      { accounts: [{ id: 'a', username: 'a', kind: 'robot', memberships: [{ facilityId: 'f', role: 'boss' }] }, {}] },
      [
        '/accounts/0/kind: must be one of user, service',
        '/accounts/0/memberships/0/role: must be one of owner, staff, bookings-manager',
        '/accounts/1/id: is missing',
        '/accounts/1/username: is missing',
      ],
    ],
    [
      'an id given twice',
      {
        facilities: [
          { id: 'f', name: 'F' },
          { id: 'f', name: 'G' },
        ],
      },
      ['/facilities/1/id: is the same as /facilities/0/id'],
    ],
    [
      'a facility that does not exist',
      { accounts: [{ id: 'a', username: 'a', memberships: [{ facilityId: 'fac-none', role: 'owner' }] }] },
      ['/accounts/0/memberships/0/facilityId: there is no facility fac-none'],
    ],
    [
      'a username of another account, in other letters',
      { accounts: [{ id: 'a', username: 'PLAYER@example.com' }] },
      ['/accounts/0/username: belongs to another account'],
    ],
    [
      'a username that nobody can type',
      { accounts: [{ id: 'a', username: ' a@b.example' }] },
      [expect.stringMatching(/^\/accounts\/0\/username: must match/) as unknown as string],
    ],
    [
      'a personal access token of nobody',
      { clients: [{ client_id: 'c', client_secret: 's', accountId: 'acc-none' }] },
      ['/clients/0/accountId: there is no account acc-none'],
    ],
    [
      'a scope that does not exist',
      {
        clients: [{ client_id: 'c', client_secret: 's', redirect_uris: ['https://c.example/cb'], scope: 'openid dr' }],
      },
      ['/clients/0/scope: dr is not known'],
    ],
    [
      'a confidential client without a secret',
      {
        clients: [
          {
            client_id: 'c',
            token_endpoint_auth_method: 'client_secret_basic',
            redirect_uris: ['https://c.example/cb'],
          },
        ],
      },
      ['/clients/0/client_secret: is missing'],
    ],
    [
      'a public client with a secret',
      {
        clients: [
          {
            client_id: 'c',
            client_secret: 's',
            token_endpoint_auth_method: 'none',
            redirect_uris: ['https://c.example/cb'],
          },
        ],
      },
      ['/clients/0/client_secret: a public client has none'],
    ],
    [
      'metadata that OpenID Connect does not allow',
      {
        clients: [
          { client_id: 'c', client_secret: 's', redirect_uris: ['https://c.example/cb#fragment'] },
          { client_id: 'd', client_secret: 's', redirect_uris: ['https://c.example/cb'], grant_types: ['magic'] },
          { client_id: 'e', client_secret: 's', redirect_uris: ['http://e.example/cb'], response_types: ['token'] },
        ],
      },
      [
        '/clients/0/redirect_uris: must not contain fragments',
        expect.stringMatching(/^\/clients\/1\/grant_types: can only contain /) as unknown as string,
        expect.stringMatching(/^\/clients\/2\/redirect_uris: .*https/) as unknown as string,
      ],
    ],
  ])('%s', async (_title, document, faults) => {
    const before = await everything();
    expect(await faultsOf(document)).toEqual(faults);
    expect(await everything()).toBe(before);
  });

  test('all or nothing: a fault in the last client takes the facilities of the same file back', async () => {
    const before = await everything();
    const faults = await faultsOf({
      facilities: [{ id: 'fac-new', name: 'New' }],
      clients: [{ client_id: 'c', client_secret: 's', accountId: 'acc-none' }],
    });
    expect(faults).toHaveLength(1);
    expect(await everything()).toBe(before);
  });

  test('references to nothing are told together, wherever they stand', async () => {
    const faults = await faultsOf({
      accounts: [{ id: 'acc-nowhere', username: 'nowhere', memberships: [{ facilityId: 'fac-none', role: 'staff' }] }],
      clients: [
        { client_id: 'c', client_secret: 's', accountId: 'acc-none' },
        { client_id: 'd', client_secret: 's', accountId: 'acc-nowhere' },
        { client_id: 'e', client_secret: 's', redirect_uris: ['https://e.example/'], scope: 'magic' },
      ],
    });
    expect(faults).toEqual([
      '/clients/2/scope: magic is not known',
      '/accounts/0/memberships/0/facilityId: there is no facility fac-none',
      '/clients/0/accountId: there is no account acc-none',
    ]);
  });

  test('text that is no JSON', () => {
    expect(() => readImportDocument('{')).toThrow(ImportError);
  });
});

describe('an upsert', () => {
  test('the same file twice changes nothing, passwords and secrets included', async () => {
    const before = await everything();
    await load(demoDocument(scopes));
    expect(await everything()).toBe(before);
  });

  test('two imports at once both succeed', async () => {
    const document = { facilities: [{ id: 'fac-two', name: 'Two' }], ...accountOf('acc-two', 'one-password') };
    const checkClient = await createClientCheck({ issuer: 'http://localhost:4000', development: true });
    const hosts = [1, 2, 3].map(() => connectDatabase({ url: server.databaseUrl, applicationName: 'import' }));
    await Promise.all(hosts.map((db) => importDocument(document, { db, scopes, checkClient })));
    await Promise.all(hosts.map((db) => db.destroy()));
    expect(await server.db('account').where({ id: 'acc-two' })).toHaveLength(1);
  });

  test('a new password takes the place of the old, and one that is left out stays', async () => {
    await load(accountOf('acc-pass', 'first-password'));
    const [first] = await server.db('account').where({ id: 'acc-pass' });
    expect(first.password_hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    await load({ accounts: [{ id: 'acc-pass', username: 'acc-pass', name: 'Renamed' }] });
    const [second] = await server.db('account').where({ id: 'acc-pass' });
    expect(second).toMatchObject({ name: 'Renamed', password_hash: first.password_hash });
    await load(accountOf('acc-pass', 'second-password'));
    const [third] = await server.db('account').where({ id: 'acc-pass' });
    expect(third.password_hash).not.toBe(first.password_hash);
  });

  test('what is left out of an account stays', async () => {
    const whole = {
      ...{ id: 'acc-whole', username: 'whole', name: 'Whole', email: 'w@whole.example', emailVerified: true },
      ...{ kind: 'service', roles: ['player'], password: 'a-password-of-its-own' },
      memberships: [{ facilityId: 'fac-north', role: 'bookings-manager' }],
    };
    await load({ accounts: [whole] });
    const before = await everything();
    await load({ accounts: [{ id: 'acc-whole', username: 'whole' }] });
    expect(await everything()).toBe(before);
  });

  test('another address is one that nobody has confirmed, unless the file says so', async () => {
    const imported = async (more: object) => {
      await load({ accounts: [{ id: 'acc-mail', username: 'mail', ...more }] });
      const [row] = await server.db('account').where({ id: 'acc-mail' });
      return [row.email, row.email_verified];
    };
    expect(await imported({ email: 'One@mail.example', emailVerified: true })).toEqual(['One@mail.example', true]);
    expect(await imported({})).toEqual(['One@mail.example', true]);
    expect(await imported({ email: 'one@mail.example' })).toEqual(['one@mail.example', true]);
    expect(await imported({ email: 'two@mail.example' })).toEqual(['two@mail.example', false]);
    expect(await imported({ email: 'three@mail.example', emailVerified: true })).toEqual(['three@mail.example', true]);
  });

  test('accounts may take names over from each other', async () => {
    const named = async (one: string, two: string) => {
      await load({
        accounts: [
          { id: 'acc-one', username: one },
          { id: 'acc-two', username: two },
        ],
      });
      return (await server.db('account').whereIn('id', ['acc-one', 'acc-two']).orderBy('id')).map(
        (row) => row.username,
      );
    };
    expect(await named('one@names.example', 'two@names.example')).toEqual(['one@names.example', 'two@names.example']);
    expect(await named('TWO@names.example', 'one@names.example')).toEqual(['TWO@names.example', 'one@names.example']);
    const taken = { accounts: [{ id: 'acc-one', username: 'one@names.example' }] };
    expect(await faultsOf(taken)).toEqual(['/accounts/0/username: belongs to another account']);
    expect(await named('İ@names.example', 'one@names.example')).toEqual(['İ@names.example', 'one@names.example']);
    const same = { accounts: [{ id: 'acc-three', username: 'İ@names.example' }] };
    expect(await faultsOf(same)).toEqual(['/accounts/0/username: belongs to another account']);
  });

  test('memberships become those of the file', async () => {
    const withRoles = (memberships: unknown) =>
      load({ accounts: [{ id: 'acc-roles', username: 'roles', memberships }] });
    await withRoles([
      { facilityId: 'fac-north', role: 'staff' },
      { facilityId: 'fac-south', role: 'owner' },
    ]);
    await withRoles([{ facilityId: 'fac-north', role: 'bookings-manager' }]);
    const rows = await server.db('membership').where({ account_id: 'acc-roles' }).select('facility_id', 'role');
    expect(rows).toEqual([{ facility_id: 'fac-north', role: 'bookings-manager' }]);
    await load({ accounts: [{ id: 'acc-roles', username: 'roles' }] });
    expect(await server.db('membership').where({ account_id: 'acc-roles' })).toHaveLength(1);
  });

  test('what it changes of clients is in the audit trail, once', async () => {
    const client = {
      client_id: 'audited',
      client_secret: 's',
      redirect_uris: ['https://c.example/cb'],
      scope: 'openid',
    };
    await load({ clients: [client] });
    await load({ clients: [client] });
    await load({ clients: [{ ...client, scope: 'openid email' }] });
    const rows = await server.db('audit_event').where({ client_id: 'audited' }).orderBy('id').select('kind');
    expect(rows).toEqual([{ kind: 'client.created' }, { kind: 'client.changed' }]);
  });

  test('a new secret takes the place of the old, and one that is left out stays', async () => {
    const client = { client_id: 'pat-new', accountId: 'acc-bot-north' };
    await load({ clients: [{ ...client, client_secret: 'one' }] });
    expect((await token('pat-new', 'one')).status).toBe(200);
    await load({ clients: [{ ...client, client_secret: 'two' }] });
    expect((await token('pat-new', 'one')).status).toBe(401);
    await load({ clients: [client] });
    expect(await answerOf(await token('pat-new', 'two'))).toMatchObject({ status: 200 });
    const { rows } = await server.db.raw(`select * from client_secret where client_id = 'pat-new'`);
    expect(JSON.stringify(rows)).not.toContain('"two"');
  });

  test('a confidential client whose secret is left out stays confidential', async () => {
    const client = { client_id: 'back-end', redirect_uris: ['https://c.example/cb'], scope: `openid ${scopes.play}` };
    const ask = async (more: object) =>
      answerOf(
        await server.post('/connect/token', {
          grant_type: 'authorization_code',
          code: 'x',
          redirect_uri: 'https://c.example/cb',
          client_id: 'back-end',
          ...more,
        }),
      );
    await load({ clients: [{ ...client, client_secret: 'kept' }] });
    await load({ clients: [{ ...client, client_name: 'Renamed' }] });
    expect(await ask({})).toMatchObject({ status: 401, error: 'invalid_client' });
    expect(await ask({ client_secret: 'kept' })).toMatchObject({ status: 400, error: 'invalid_grant' });
    await load({ clients: [{ ...client, token_endpoint_auth_method: 'none' }] });
    expect(await ask({})).toMatchObject({ status: 400, error: 'invalid_grant' });
  });
});

const accountOf = (id: string, password: string): ImportDocument => ({
  accounts: [{ id, username: id, password, kind: 'user', roles: ['player'] }],
});
