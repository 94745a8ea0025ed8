// Who may import whom? Reads every import of the source and fails on a breach of the rule in docs/architecture.md.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '..');
const sources = globSync('{apps,packages}/*/src/**/*.ts', { cwd: root }).filter(
  (file) => !/\.(test|d)\.ts$/.test(file),
);

interface Import {
  readonly from: string;
  readonly to: string;
}

/** Every static and dynamic import; relative ones resolved to a path from the repository's root. */
function importsOf(file: string): readonly Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [
    ...text.matchAll(/^\s*(?:import|export)\b[^;'"]*?from\s+'([^']+)'|^\s*import\s+'([^']+)'|import\('([^']+)'\)/gm),
  ].map((match) => {
    const target = (match[1] ?? match[2] ?? match[3]) as string;
    return { from: file, to: target.startsWith('.') ? normalize(join(dirname(file), target)) : target };
  });
}

const imports = sources.flatMap(importsOf);
const breaches = (rule: (found: Import) => boolean): string[] =>
  imports.filter(rule).map(({ from, to }) => `${from} imports ${to}`);

/** `apps/auth`, `packages/common`, … of a path from the root or of one of our package names. */
const workspaceOf = (path: string): string | undefined =>
  /^(?:apps|packages)\/[^/]+/.exec(path)?.[0] ?? /^@bay-booking\/([^/]+)/.exec(path)?.[1];
const packageOf = (path: string): string | undefined => workspaceOf(path)?.replace(/^(apps|packages)\//, '');

test('the source is found', () => {
  expect(sources.length).toBeGreaterThan(30);
  expect(imports.length).toBeGreaterThan(100);
});

describe('packages', () => {
  const allowed: Record<string, readonly string[]> = {
    common: [],
    service: ['common'],
    postgres: [],
    tracing: [],
    testkit: ['common', 'service', 'postgres'],
    local: ['service', 'postgres', 'testkit'],
    auth: ['common', 'service'],
    bookings: ['common', 'service'],
  };

  test('each imports only what stands below it, and apps never import apps', () => {
    expect(
      breaches(({ from, to }) => {
        const target = packageOf(to);
        const own = packageOf(from) as string;
        return target !== undefined && target !== own && !allowed[own]?.includes(target);
      }),
    ).toEqual([]);
  });

  test('a relative import never leaves its workspace', () => {
    expect(breaches(({ from, to }) => /^(apps|packages)\//.test(to) && workspaceOf(to) !== workspaceOf(from))).toEqual(
      [],
    );
  });

  test('packages/common is pure: no I/O, no process, no database', () => {
    expect(
      breaches(({ from, to }) => from.startsWith('packages/common/') && /^(node:|express|knex|pg|pino)/.test(to)),
    ).toEqual([]);
  });
});

describe('inside an app', () => {
  test('nothing imports main.ts, and only main.ts and commands import app.ts', () => {
    expect(
      breaches(
        ({ from, to }) =>
          /\/src\/main\.ts$/.test(to) || (/\/src\/app\.ts$/.test(to) && !/\/src\/(main|commands\/.*)\.ts$/.test(from)),
      ),
    ).toEqual([]);
  });

  test('only main.ts, commands and service/config.ts read the environment', () => {
    const readers = sources.filter(
      (file) =>
        /process\.env/.test(readFileSync(join(root, file), 'utf8')) &&
        !/^(apps\/[^/]+\/src\/(main|commands\/.*)\.ts|packages\/service\/src\/config\.ts|packages\/(local|testkit|postgres)\/)/.test(
          file,
        ),
    );
    expect(readers).toEqual([]);
  });

  test('only stores and adapters, and what is named for its SQL, hold SQL', () => {
    const holders =
      /(\/storage\/[^/]+|[/-](store|statements|where|audit|one-time-links|compaction|reader|idempotency))\.ts$/;
    const sql = /['"`]\s*(?:select|insert into|update|delete from|with \w+ as|lock table|set local)\s/;
    const holding = sources.filter(
      (file) => file.startsWith('apps/') && sql.test(readFileSync(join(root, file), 'utf8')),
    );
    expect(holding.length).toBeGreaterThan(15);
    expect(holding.filter((file) => !holders.test(file))).toEqual([]);
  });

  test('only apps/auth/src/oidc imports oidc-provider, and only its main module', () => {
    expect(breaches(({ from, to }) => to === 'oidc-provider' && !/^apps\/auth\/src\/oidc\//.test(from))).toEqual([]);
    expect(breaches(({ to }) => /^oidc-provider\//.test(to))).toEqual([]);
  });

  test('pure rules do no I/O', () => {
    const pure = /^apps\/(bookings\/src\/bookings\/(date-times|search\/filter|resource)|auth\/src\/oidc\/scopes)\.ts$/;
    expect(
      breaches(({ from, to }) => pure.test(from) && /^(node:fs|node:http|pg|knex|express)|\/store\.ts$/.test(to)),
    ).toEqual([]);
  });
});

describe('habits', () => {
  test('no index.ts, no utils, helpers or manager', () => {
    expect(sources.filter((file) => /\/(index|utils?|helpers?|.*-?manager)\.ts$/.test(file))).toEqual([]);
  });

  test('every file opens with the question it answers', () => {
    expect(sources.filter((file) => !readFileSync(join(root, file), 'utf8').startsWith('//'))).toEqual([]);
  });
});
