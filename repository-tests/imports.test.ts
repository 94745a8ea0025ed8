// Checks the import rules of docs/architecture.md: which modules a module may import, which modules may read
// environment variables, which modules may contain SQL, and how many modules a folder has.
import { type Import, importsOf, modules, read } from '@bay-booking/testkit/repository';
import { describe, expect, test } from '@jest/globals';

/** `modules` contains no tests, so the rules do not apply to the imports of tests. */
const imports = modules.flatMap(importsOf);

const violations = (breaks: (found: Import) => boolean): readonly string[] =>
  imports.filter(breaks).map(({ from, to }) => `${from} imports ${to}`);

/** Returns the workspace of a path, for example `apps/auth`. */
const workspaceOf = (path: string): string | undefined => /^(?:apps|packages)\/[^/]+/.exec(path)?.[0];
/** Returns the name of the app or package of a path or of an imported package name, for example `common`. */
const packageOf = (path: string): string | undefined => /^(?:apps|packages|@bay-booking)\/([^/]+)/.exec(path)?.[1];

test('the modules and their imports are found', () => {
  expect(modules.length).toBeGreaterThan(200);
  expect(imports.length).toBeGreaterThan(800);
});

describe('workspaces', () => {
  const allowed: Readonly<Record<string, readonly string[]>> = {
    client: [],
    common: [],
    service: ['common'],
    records: ['common', 'service'],
    postgres: [],
    tracing: [],
    testkit: ['common', 'service', 'postgres'],
    'social-stand-ins': [],
    local: ['service', 'postgres', 'social-stand-ins'],
    auth: ['common', 'records', 'service'],
    // The day sheet uses the client in the browser.
    bookings: ['client', 'common', 'records', 'service'],
  };

  test('a workspace imports only the packages that the list allows, and never an app', () => {
    expect(
      violations(({ from, to }) => {
        const [importer, imported] = [packageOf(from) as string, packageOf(to)];
        return imported !== undefined && imported !== importer && !allowed[importer]?.includes(imported);
      }),
    ).toEqual([]);
  });

  test('a workspace imports nothing of another workspace by a relative path', () => {
    expect(
      violations(({ from, to }) => workspaceOf(to) !== undefined && workspaceOf(to) !== workspaceOf(from)),
    ).toEqual([]);
  });

  test('packages/client imports its two dependencies and nothing of Node.js, so that it can run in browsers', () => {
    const { dependencies } = JSON.parse(read('packages/client/package.json'));
    const imported = imports.filter(({ from }) => from.startsWith('packages/client/')).map(({ to }) => to);
    expect(new Set(imported.filter((to) => !to.startsWith('packages/client/')))).toEqual(
      new Set(Object.keys(dependencies)),
    );
  });

  test('packages/common does no I/O', () => {
    const io = /^(node:|express|knex|pg|pino)/;
    expect(violations(({ from, to }) => from.startsWith('packages/common/') && io.test(to))).toEqual([]);
  });
});

test('only the three public modules of service/src/database are imported from outside the folder', () => {
  const folder = 'packages/service/src/database/';
  const inFolder = (path: string) => path.replace('@bay-booking/service/', 'packages/service/src/').startsWith(folder);
  const publicModule = /\/database\/(database|metrics|migrate|distribute)(\.ts)?$/;
  expect(violations(({ from, to }) => inFolder(to) && !inFolder(from) && !publicModule.test(to))).toEqual([]);
});

describe('folders', () => {
  test('no two folders with the same parent import each other', () => {
    const arrows = new Set<string>();
    for (const { from, to } of imports) {
      const [importer, imported] = [from.split('/').slice(0, -1), to.split('/').slice(0, -1)];
      const depth = importer.findIndex((name, index) => name !== imported[index]);
      // Only folders below `apps/NAME/src` and `packages/NAME/src` count.
      if (depth < 3 || imported[depth] === undefined) continue;
      const parent = importer.slice(0, depth).join('/');
      arrows.add(`${parent}: ${importer[depth]} -> ${imported[depth]}`);
    }
    const reverse = (arrow: string) => arrow.replace(/ (\S+) -> (\S+)$/, ' $2 -> $1');
    expect([...arrows].filter((arrow) => arrows.has(reverse(arrow)))).toEqual([]);
  });

  test('a folder has at most twelve modules', () => {
    const product = modules.filter((file) => !file.startsWith('packages/testkit/'));
    const folders = Map.groupBy(product, (file) => file.slice(0, file.lastIndexOf('/')));
    expect([...folders].filter(([, files]) => files.length > 12).map(([folder]) => folder)).toEqual([]);
  });

  test('http/ and time/ of bookings import no subject', () => {
    const general = /^apps\/bookings\/src\/(?:http|time)\//;
    const allowed = /^(?!apps\/bookings\/)|^apps\/bookings\/src\/(?:(?:http|time|auth|database)\/|[^/]+$)/;
    expect(imports.filter(({ from }) => general.test(from)).length).toBeGreaterThan(20);
    expect(violations(({ from, to }) => general.test(from) && !allowed.test(to))).toEqual([]);
  });
});

describe('modules of an app', () => {
  test('nothing imports main.ts, and only main.ts and commands/ import app.ts', () => {
    expect(violations(({ to }) => /\/src\/main\.ts$/.test(to))).toEqual([]);
    expect(
      violations(({ from, to }) => /\/src\/app\.ts$/.test(to) && !/\/src\/(main|commands\/.*)\.ts$/.test(from)),
    ).toEqual([]);
  });

  test('only apps/auth/src/oidc imports oidc-provider, and nothing imports its internal modules', () => {
    expect(violations(({ from, to }) => to === 'oidc-provider' && !from.startsWith('apps/auth/src/oidc/'))).toEqual([]);
    expect(violations(({ to }) => to.startsWith('oidc-provider/'))).toEqual([]);
  });

  test('every way to sign in starts its session with start-session.ts, and nothing else stores a session', () => {
    const signIn = 'apps/auth/src/interaction/sign-in/';
    const importersOf = (path: string) =>
      [
        ...new Set(imports.filter(({ to }) => to === path).map(({ from }) => from.replace('apps/auth/src/', ''))),
      ].sort();
    expect(importersOf(`${signIn}new-session-store.ts`)).toEqual(['interaction/sign-in/start-session.ts']);
    expect(importersOf('apps/auth/src/oidc/sessions.ts').filter((from) => !from.startsWith('oidc/'))).toEqual([
      'app.ts',
      'interaction/sign-in/browser-session.ts',
      'interaction/sign-in/start-session.ts',
      'services.ts',
    ]);
  });

  test('html/ imports nothing from interaction/ or portal/', () => {
    const pages = /^apps\/auth\/src\/(interaction|portal)\//;
    expect(imports.filter(({ from }) => from.startsWith('apps/auth/src/html/')).length).toBeGreaterThan(10);
    expect(violations(({ from, to }) => from.startsWith('apps/auth/src/html/') && pages.test(to))).toEqual([]);
  });

  test('stores do not import modules for HTTP and pages', () => {
    const store = /(^|[/-])store\.ts$|\/storage\/|\/statements\.ts$/;
    // Only auth has HTML pages. `packages/common/src/page.ts` reads a page of a list.
    const http = /^express$|\/src\/(http|html)\/|[/-](routes|endpoints)\.ts$|^apps\/auth\/.*[/-]pages?\.ts$/;
    expect(imports.filter(({ from }) => store.test(from)).length).toBeGreaterThan(100);
    expect(imports.filter(({ to }) => http.test(to)).length).toBeGreaterThan(100);
    expect(violations(({ from, to }) => store.test(from) && http.test(to))).toEqual([]);
  });

  test('modules with pure rules do no I/O', () => {
    const pure = /^apps\/(bookings\/src\/bookings\/(search\/request|booking)|auth\/src\/oidc\/scopes)\.ts$/;
    const io = /^(node:fs|node:http|pg|knex|express)|store\.ts$/;
    expect(modules.filter((file) => pure.test(file))).toHaveLength(3);
    expect(violations(({ from, to, isTypeOnly }) => pure.test(from) && io.test(to) && !isTypeOnly)).toEqual([]);
  });
});

test('only main.ts, commands/ and the packages for development read the environment', () => {
  const readers =
    /^(apps\/[^/]+\/src\/(main|commands\/.*)\.ts$|packages\/(local|testkit|postgres)\/|packages\/records\/src\/commands)/;
  expect(modules.filter((file) => read(file).includes('process.env') && !readers.test(file))).toEqual([]);
});

test('only storage/, changes/, database/, stores, records, statements and locks contain SQL', () => {
  /** Matches a string that begins with an SQL keyword. */
  const sql = /['"`]\s*(?:select|insert into|update|delete from|with \w+ as|lock table|set local)\s/;
  const modulesForSql = /\/(storage|changes|database)\/|[/-](store|statements|locks|record)\.ts$/;
  /** Has the reads of availability. */
  const exception = 'apps/bookings/src/availability/bay-states.ts';
  const found = modules.filter((file) => file.startsWith('apps/') && sql.test(read(file)));
  expect(found.length).toBeGreaterThan(15);
  expect(found.filter((file) => !modulesForSql.test(file) && file !== exception)).toEqual([]);
});
