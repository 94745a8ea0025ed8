// Tests the import: validation errors, upserts by id, and that a file is imported as a whole or not at all.
import { commandNames } from '@bay-booking/records/commands';
import type { Database } from '@bay-booking/service/database/database';
import { useFixture } from '@bay-booking/testkit/fixture';
import { documentedFields, fieldsOf } from '@bay-booking/testkit/import-guide';
import { findFiles, read } from '@bay-booking/testkit/repository';
import { eventually } from '@bay-booking/testkit/wait';
import { describe, expect, test } from '@jest/globals';
import {
  connectDatabase,
  createAccountRecords,
  createClientValidator,
  importFile,
  scopeBase,
  scopes,
  startAuthServer,
} from './auth-server.ts';
import { demoDocument } from './demo-document.ts';
import type { ImportDocument } from './import-document.ts';

const server = useFixture(() => startAuthServer());

const load = (document: unknown) => server.load(document as ImportDocument);
const errorsOf = async (document: unknown): Promise<readonly string[]> => {
  try {
    await load(document);
    return [];
  } catch (error) {
    const [summary, ...rows] = (error as Error).message.split('\n');
    if (!summary?.startsWith('Nothing was imported.')) throw error;
    return rows.map((row) => row.trim());
  }
};
/** Returns the rows of every table that an import changes, as one text, so that a test can compare two results. */
const readAllTables = async () => {
  const tables = ['facility', 'account', 'membership', 'client', 'client_secret'];
  const rows = await Promise.all(tables.map((table) => server.db(table).orderByRaw('1')));
  return JSON.stringify(rows);
};
/** Creates the validator of a development server, which allows redirect URIs on loopback addresses. */
const createValidator = () => createClientValidator({ issuer: server.origin, isDevelopment: true, allowNetworks: [] });
const openRecords = (db: Database) => {
  const settings = { issuer: server.origin, isDevelopment: true, outboundAllowNetworks: [], encryptionKeys: undefined };
  return createAccountRecords(db, { ...settings, scopeBase });
};

describe('an invalid file', () => {
  const rolesAtF = (...roles: string[]) => roles.map((role) => ({ facilityId: 'f', role }));
  const noControls = 'must not contain control characters (including those for the direction of text)';
  test.each<[title: string, document: unknown, errors: unknown]>([
    ['the document is not an object', [], ['/: must be object']],
    ['the file has an unknown section', { users: [] }, ['/users: is not known']],
    [
      'the file has several errors',
      {
        facilities: [{ id: 'f' }],
        accounts: [{ id: 'a', username: 'a', kind: 'robot', memberships: rolesAtF('boss') }, {}],
      },
      [
        '/facilities/0/name: is missing',
        '/accounts/0/kind: must be one of user, service',
        '/accounts/0/memberships/0/role: must be one of owner, staff, bookings-manager, facility-manager',
        '/accounts/1/id: is missing',
        '/accounts/1/username: is missing',
      ],
    ],
    [
      'an id occurs twice, and an account has two roles at a facility',
      {
        facilities: ['F', 'G'].map((name) => ({ id: 'f', name })),
        accounts: [{ id: 'a', username: 'a', memberships: rolesAtF('staff', 'owner') }],
      },
      [
        '/facilities/1/id: is the same as /facilities/0/id',
        '/accounts/0/memberships/1/facilityId: is the same as /accounts/0/memberships/0/facilityId',
      ],
    ],
    [
      'names contain control characters, or characters that change the direction of text',
      {
        facilities: [{ id: 'f', name: 'North\u202eRange' }],
        accounts: ['Ann\u2066', 'Bo\n'].map((name, index) => ({ id: `a${index}`, username: `a${index}`, name })),
        clients: [{ client_id: 'c', client_secret: 's', accountId: 'acc-bot-north', name: '\u200fTill' }],
      },
      ['/facilities/0/name', '/accounts/0/name', '/accounts/1/name', '/clients/0/name'].map(
        (path) => `${path}: must have a visible character, and ${noControls}`,
      ),
    ],
    [
      'ids that no path can contain',
      {
        facilities: [{ id: '..', name: 'F' }],
        accounts: [{ id: '.', username: '..' }],
        clients: [{ client_id: '.', redirect_uris: ['https://c.example/'] }],
      },
      ['/facilities/0/id', '/accounts/0/id', '/accounts/0/username', '/clients/0/client_id'].map(
        (path) => `${path}: must not be . or .., and ${noControls}`,
      ),
    ],
    [
      'unknown fields and wrong values',
      {
        facilities: [{ id: 'f', name: 'F', timeZone: '+01:00', zone: 'UTC' }],
        clients: [{ client_id: 'c', accountId: 'a', access: 'all', account_id: 'a', facility_ids: ['f'] }],
        accounts: [{ id: 'a', username: 'a', email_verified: true, memberships: [{ facility_id: 'f' }] }],
      },
      [
        '/facilities/0/zone: is not known',
        '/facilities/0/timeZone: must be an IANA time zone such as Europe/Copenhagen',
        '/accounts/0/email_verified: is not known',
        '/accounts/0/memberships/0/facilityId: is missing',
        '/accounts/0/memberships/0/role: is missing',
        '/accounts/0/memberships/0/facility_id: is not known',
        '/clients/0/access: must be one of read, write, manage',
        '/clients/0/account_id: is not known',
        '/clients/0/facility_ids: is not known',
        '/clients/0/client_secret: is missing',
      ],
    ],
  ])('the import names the path of each error and changes nothing: %s', async (_title, document, errors) => {
    const before = await readAllTables();
    const found = await errorsOf(document);
    expect(found.toSorted()).toEqual((errors as string[]).toSorted());
    expect(await readAllTables()).toBe(before);
  });

  let clientCount = 0;
  const secret = { client_secret: 's' };
  const isPublic = { token_endpoint_auth_method: 'none' };
  const pat = { ...secret, accountId: 'acc-bot-north' };
  const keys = { token_endpoint_auth_method: 'private_key_jwt' };
  const logout = (uri: string) => ({ ...secret, backchannel_logout_uri: uri });
  const implicit = { response_types: ['code', 'id_token token'], grant_types: ['authorization_code', 'implicit'] };
  const silent = { skip_consent: true, scope: 'openid' };
  test.each<[metadata: object, ...errors: unknown[]]>([
    [{ ...secret, accountId: 'acc-none' }, 'accountId: there is no account acc-none'],
    [{ ...secret, scope: 'openid dr' }, 'scope: dr is not known'],
    [{ ...secret, ...isPublic }, 'client_secret: a public client has none'],
    ...['auth', 'bookings'].flatMap((api) => {
      const scope = `${scopeBase}/operate/${api}`;
      const machine = ['client_credentials'];
      const error = `scope: ${scope} is only for clients with private_key_jwt and only the grant type client_credentials`;
      return [
        { ...secret, grant_types: machine },
        { ...isPublic },
        { ...keys, jwks_uri: 'https://c.example/', grant_types: ['authorization_code', ...machine] },
        pat,
      ].map((metadata): [object, string] => [{ ...metadata, scope }, error]);
    }),
    [
      { ...pat, ...keys, dpop_bound_access_tokens: true },
      'dpop_bound_access_tokens: a personal access token can only have a secret',
      'token_endpoint_auth_method: a personal access token can only have a secret',
    ],
    [{ ...keys, jwks_uri: 'https://10.0.0.1/jwks' }, 'jwks_uri: must lead to a public address'],
    [{ ...keys, jwks_uri: 'https://user@c.example/jwks' }, 'jwks_uri: must not contain user information'],
    [{ ...secret, redirect_uris: ['com.example.c:/cb'] }, 'client_secret: a native app cannot keep a secret'],
    [
      { ...secret, redirect_uris: ['http://127.0.0.1/cb'], application_type: 'native' },
      'client_secret: a native app cannot keep a secret',
    ],
    [{ ...secret, redirect_uris: ['http://localhost:4010/cb'] }],
    [{ ...secret, application_type: 'native' }],
    // Tokens of the authorization endpoint cannot be bound.
    [
      { ...isPublic, ...implicit, dpop_bound_access_tokens: true },
      'response_types: must not include "token" when dpop_bound_access_tokens is used',
    ],
    // Another program could get what is granted without a consent page.
    [{ ...silent, skip_consent: 'yes' }, 'skip_consent: must be boolean'],
    [{ ...silent, pkce: 'optional' }, 'skip_consent: is not for a public client with optional PKCE'],
    [
      { ...silent, redirect_uris: ['com.c:/', 'http://127.0.0.1/'] },
      'skip_consent: is not for a native app or a custom scheme',
      'skip_consent: is not for a public client on a loopback address',
    ],
    [{ ...silent, application_type: 'native' }, 'skip_consent: is not for a native app or a custom scheme'],
    [{ ...silent, response_types: ['token'] }, 'skip_consent: is not for the implicit flow'],
    [{ ...silent, profile: 'fapi2', jwks_uri: 'https://f.example/' }, 'skip_consent: is not for the profile fapi2'],
    [{ ...silent, ...pat }, 'skip_consent: a personal access token can only have a secret'],
    [{ ...silent, ...secret }],
    [{ ...silent, redirect_uris: ['https://i.example/', 'http://localhost:4001/day/'] }],
    [{ ...secret, redirect_uris: ['https://c.example/cb#fragment'] }, 'redirect_uris: must not contain fragments'],
    [{ ...secret, grant_types: ['magic'] }, expect.stringMatching(/^grant_types: can only contain /)],
    // No client can be registered for id_tokens without a signature.
    [{ ...secret, id_token_signed_response_alg: 'none' }, expect.stringMatching(/^id_token_signed_response_alg: /)],
    [{ ...secret, response_modes: ['smoke-signal'] }, expect.stringMatching(/^response_modes: /)],
    ...[59, 86_401, 60.5, '60'].map((ttl): [object, unknown] => [
      { ...secret, access_token_ttl: ttl },
      expect.stringMatching(/^access_token_ttl: /),
    ]),
    [{ ...pat, facilities: ['nope'] }, 'facilities/0: there is no facility nope'],
    [{ ...secret, access: 'read' }, 'access: is only for a client with accountId'],
    [{ ...secret, facilities: ['fac-north'] }, 'facilities: is only for a client with accountId'],
    [{ ...secret, backchannel_logout_session_required: true }, expect.stringMatching(/needs backchannel_logout_uri$/)],
    [
      { ...logout('https://app.example/'), backchannel_logout_session_required: 'yes' },
      expect.stringMatching(/^backchannel_logout_session_required: /),
    ],
    [
      logout('app.example/logout'),
      'backchannel_logout_uri: must be a web uri',
      'backchannel_logout_uri: must be an https address',
    ],
    // 203.0.114.1 is a public address, so the only error is the protocol.
    [logout('http://203.0.114.1/logout'), 'backchannel_logout_uri: must be an https address'],
    [logout('https://10.1.2.3/logout'), 'backchannel_logout_uri: must lead to a public address'],
    [logout('https://app.example/#part'), 'backchannel_logout_uri: must not contain a fragment'],
    [logout('https://user:secret@app.example/'), 'backchannel_logout_uri: must not contain user information'],
    [
      { ...secret, redirect_uris: ['http://e.example/cb'], response_types: ['token'] },
      expect.stringMatching(/^redirect_uris: .*https/),
    ],
  ])('the metadata %j of a client has these errors: %j', async (metadata, ...errors) => {
    const redirects = 'accountId' in metadata ? {} : { redirect_uris: ['https://c.example/cb'] };
    const found = await errorsOf({ clients: [{ client_id: `c-${++clientCount}`, ...redirects, ...metadata }] });
    expect(found.map((error) => error.replace('/clients/0/', '')).toSorted()).toEqual(errors.toSorted());
  });

  test('the metadata of a client must not contradict the profile fapi2', async () => {
    const client = {
      client_id: 'c',
      client_secret: 's',
      profile: 'fapi2',
      pkce: 'optional',
      token_endpoint_auth_method: 'client_secret_basic',
      require_pushed_authorization_requests: false,
      dpop_bound_access_tokens: false,
      id_token_signed_response_alg: 'RS256',
      response_types: ['code', 'token'],
      grant_types: ['authorization_code', 'implicit', 'password', 'social_access_token'],
      redirect_uris: ['http://c.example/callback'],
    };
    const needed = {
      token_endpoint_auth_method: 'private_key_jwt',
      require_pushed_authorization_requests: 'true',
      dpop_bound_access_tokens: 'true',
      id_token_signed_response_alg: 'ES256',
      pkce: 'required',
      response_types: 'code',
      grant_types: 'authorization_code, refresh_token, client_credentials',
      redirect_uris: 'https addresses',
    };
    const errors = Object.entries(needed).map(
      ([name, value]) => `/clients/0/${name}: the profile fapi2 needs ${value}`,
    );
    expect(await errorsOf({ clients: [client] })).toEqual(expect.arrayContaining(errors));
  });

  test('all references to missing facilities and accounts are reported together, after all errors of form', async () => {
    const accounts = [
      { id: 'acc-nowhere', username: 'nowhere', memberships: [{ facilityId: 'fac-none', role: 'staff' }] },
      { id: 'acc-somewhere', username: 'somewhere', password: 'lampe fenster regal' },
    ];
    const clients = [
      { client_id: 'c', client_secret: 's', accountId: 'acc-none' },
      // This client has no error, because the file also contains its account.
      { client_id: 'd', client_secret: 's', accountId: 'acc-somewhere' },
      { client_id: 'e', client_secret: 's', redirect_uris: ['https://e.example/'], scope: 'magic' },
    ];
    const weak = { id: 'acc-weak', username: 'weak', password: 'short' };
    expect(await errorsOf({ accounts: [...accounts, weak], clients })).toEqual([
      expect.stringMatching(/^\/accounts\/2\/password: /),
      '/clients/2/scope: magic is not known',
    ]);
    expect(await errorsOf({ accounts, clients: clients.slice(0, 2) })).toEqual([
      '/accounts/0/memberships/0/facilityId: there is no facility fac-none',
      '/clients/0/accountId: there is no account acc-none',
    ]);
  });
});

describe('an import inserts or updates by id', () => {
  test('importing the same file twice changes nothing, including passwords and secrets', async () => {
    // The server was started with this document.
    const before = await readAllTables();
    await load(demoDocument(scopes));
    expect(await readAllTables()).toBe(before);
  });

  test('spaces around a user name and invisible characters are dropped, as when somebody types it', async () => {
    const id = 'acc-typed';
    await load({ accounts: [{ id, username: ' \u200bTy\u00adped@names.example\u200e ' }] });
    const findName = () => server.db('account').where({ id }).first('username');
    expect(await findName()).toEqual({ username: 'Typed@names.example' });
    const errorsFor = async (username: string, of = id) =>
      (await errorsOf({ accounts: [{ id: of, username }] })).map((error) =>
        error.replace('/accounts/0/username: ', ''),
      );
    expect(await errorsFor('typed@names.example', 'acc-other')).toEqual(['belongs to another account']);
    expect(await errorsFor('\u200b..')).toHaveLength(1);
    expect(await errorsFor('\u200b')).toEqual(['has only invisible characters']);
  });

  test('parallel imports of the same file over separate connections all succeed', async () => {
    const accounts = [{ id: 'acc-new', username: 'acc-new', password: 'lampe fenster regal' }];
    const document = { facilities: [{ id: 'fac-new', name: 'New' }], accounts };
    const databases = [1, 2, 3].map(() => connectDatabase({ url: server.databaseUrl, applicationName: 'import' }));
    await Promise.all(databases.map(async (db) => importFile(await openRecords(db), document)));
    await Promise.all(databases.map((db) => db.destroy()));
    expect(await server.db('account').where({ id: 'acc-new' })).toHaveLength(1);
  });

  test('a password is stored as a hash, and fields of an account that are left out keep their values', async () => {
    const account = { id: 'acc-whole', username: 'whole' };
    const profile = { name: 'Whole', email: 'w@whole.example', emailVerified: true, roles: ['player'] };
    const memberships = [{ facilityId: 'fac-north', role: 'bookings-manager' }];
    const others = { kind: 'service', password: 'a-password-of-its-own', memberships };
    await load({ accounts: [{ ...account, ...profile, ...others }] });
    const stored = await server.db('account').where({ id: account.id }).first('password_hash');
    expect(stored.password_hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    const before = await readAllTables();
    await load({ accounts: [account] });
    expect(await readAllTables()).toBe(before);
  });

  test('a new e-mail address is not verified, unless the file says so', async () => {
    /** Imports the account with these fields. Returns its e-mail address, and whether the address is verified. */
    const importAccount = async (more: object) => {
      await load({ accounts: [{ id: 'acc-mail', username: 'mail', ...more }] });
      const [row] = await server.db('account').where({ id: 'acc-mail' });
      return [row.email, row.email_verified];
    };
    expect(await importAccount({ email: 'One@mail.example', emailVerified: true })).toEqual(['One@mail.example', true]);
    expect(await importAccount({})).toEqual(['One@mail.example', true]);
    // This address differs from the verified address only in case.
    expect(await importAccount({ email: 'one@\u200bmail.example ' })).toEqual(['one@mail.example', true]);
    expect(await importAccount({ email: 'two@mail.example' })).toEqual(['two@mail.example', false]);
    const third = { email: 'three@mail.example', emailVerified: true };
    expect(await importAccount(third)).toEqual(['three@mail.example', true]);
  });

  test('a user name that somebody takes during the import belongs to another account', async () => {
    const registration = await server.db.transaction();
    const name = 'race@names.example';
    await registration('account').insert({ id: 'acc-registered', username: name, username_key: name });
    const errors = errorsOf({ accounts: [{ id: 'acc-late', username: name }] });
    const waiting = "select from pg_stat_activity where datname = current_database() and wait_event = 'transactionid'";
    await eventually(async () => (await server.db.raw(waiting)).rows.length > 0);
    await registration.commit();
    expect(await errors).toEqual(['/accounts/0/username: belongs to another account']);
  });

  test('two spellings of a user name belong to one account', async () => {
    await load({ accounts: ['Zoë@zürich.example', 'ς'].map((username, n) => ({ id: `acc-${n}`, username })) });
    const taken = { accounts: [{ id: 'acc-three', username: 'ZOE\u0308@xn--zrich-kva.example' }] };
    expect(await errorsOf(taken)).toEqual(['/accounts/0/username: belongs to another account']);
    const same = ['Φ', 'φ\u200b'].map((username, index) => ({ id: `acc-same-${index}`, username }));
    const error = expect.stringMatching(/^\/accounts\/1\/username: is the same as/);
    expect(await errorsOf({ accounts: same })).toEqual([error]);
  });

  test('the memberships of the file replace the stored ones', async () => {
    const importMemberships = (memberships: unknown) =>
      load({ accounts: [{ id: 'acc-roles', username: 'roles', memberships }] });
    await importMemberships(['fac-north', 'fac-south'].map((facilityId) => ({ facilityId, role: 'staff' })));
    await importMemberships([{ facilityId: 'fac-north', role: 'bookings-manager' }]);
    const rows = await server.db('membership').where({ account_id: 'acc-roles' }).select('facility_id', 'role');
    expect(rows).toEqual([{ facility_id: 'fac-north', role: 'bookings-manager' }]);
  });

  test('a client may have any OpenID Connect metadata that the server supports', async () => {
    const metadata = {
      client_name: 'Everything',
      client_uri: 'https://c.example',
      logo_uri: 'https://c.example/logo.png',
      policy_uri: 'https://c.example/policy',
      tos_uri: 'https://c.example/terms',
      initiate_login_uri: 'https://c.example/login',
      contacts: ['dev@c.example'],
      redirect_uris: ['https://c.example/cb'],
      post_logout_redirect_uris: ['https://c.example/out'],
      response_types: ['code'],
      response_modes: ['query', 'form_post'],
      grant_types: ['authorization_code', 'refresh_token'],
      application_type: 'web',
      subject_type: 'public',
      id_token_signed_response_alg: 'ES256',
      default_max_age: 3600,
      require_auth_time: true,
      token_endpoint_auth_method: 'client_secret_post',
    };
    expect(await errorsOf({ clients: [{ client_id: 'everything', client_secret: 's', ...metadata }] })).toEqual([]);
    const [row] = await server.db('client').where({ id: 'everything' });
    expect(row.metadata).toEqual(metadata);
  });

  test('a confidential client stays confidential if its secret is left out', async () => {
    const client = { client_id: 'back-end', redirect_uris: ['https://c.example/cb'], scope: `openid ${scopes.play}` };
    /** Exchanges an unknown code. invalid_grant means that the authentication of the client has succeeded. */
    const form = { grant_type: 'authorization_code', code: 'x', redirect_uri: 'https://c.example/cb' };
    const redeemCode = (more: object) => server.token({ ...form, client_id: 'back-end', ...more });
    await load({ clients: [{ ...client, client_secret: 'a-secret' }] });
    await load({ clients: [{ ...client, client_name: 'Renamed' }] });
    expect(await redeemCode({})).toMatchObject({ status: 401, error: 'invalid_client' });
    expect(await redeemCode({ client_secret: 'a-secret' })).toMatchObject({ status: 400, error: 'invalid_grant' });
    await load({ clients: [{ ...client, token_endpoint_auth_method: 'none' }] });
    expect(await redeemCode({})).toMatchObject({ status: 400, error: 'invalid_grant' });
  });
});

test('the only ownership can move to an account that is written much later', async () => {
  const owner = { memberships: [{ facilityId: 'fac-moved', role: 'owner' }] };
  const [first, last] = ['a-first', 'z-last'].map((id) => ({ id, username: id }));
  const facilities = [{ id: 'fac-moved', name: 'Moved' }];
  await load({ facilities, accounts: [{ ...first, ...owner }] });
  const others = Array.from({ length: 600 }, (_, index) => ({ id: `m-${index}`, username: `m-${index}` }));
  const withoutOwner = { accounts: [{ ...first, memberships: [] }, ...others, last] };
  expect(await errorsOf(withoutOwner)).toEqual(['/accounts/0/memberships: facility fac-moved would have no owner']);
  await load({ accounts: [{ ...first, memberships: [] }, ...others, { ...last, ...owner }] });
  const rows = await server.db('membership').where({ facility_id: 'fac-moved' });
  expect(rows).toMatchObject([{ account_id: 'z-last', role: 'owner' }]);
});

type FieldSchema = Parameters<typeof fieldsOf>[0];

test('the list of commands, whose names no client may have, is complete', () => {
  const names = findFiles('apps/*/package.json').flatMap((file) => {
    const { scripts } = JSON.parse(read(file)) as { scripts: Record<string, string> };
    return Object.keys(scripts).filter((name) => scripts[name]?.includes(' src/commands/'));
  });
  expect(commandNames).toEqual([...new Set(names)].toSorted());
});

test('docs/import.md lists every field of the file', async () => {
  const { 'a client': clientFields = [], ...documented } = documentedFields('Auth');
  const store = await openRecords(server.db);
  const schema = store.files.schema as unknown as { properties: Record<string, { items: FieldSchema }> };
  const fieldsIn = (section: string) => fieldsOf(schema.properties[section]?.items as FieldSchema);
  expect(documented).toEqual({
    'the file': fieldsOf(schema),
    'a facility': fieldsIn('facilities'),
    'an account': fieldsIn('accounts'),
    'a membership': ['facilityId*', 'role*'],
  });
  expect(clientFields).toEqual(expect.arrayContaining([...fieldsIn('clients')]));
  const metadata = clientFields.filter((field) => !fieldsIn('clients').includes(field));
  const validator = await createValidator();
  // The document lists many fields of OpenID Connect metadata. If the list were empty, the last assertion would check
  // nothing.
  expect(metadata.length).toBeGreaterThan(15);
  expect(validator.findUnknown(metadata)).toEqual([]);
});
