// Is what infra/ describes what the services are? Images, compose, alerts and dashboards, read offline and held against the
// sources.
import { constants, globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { compileCache, nodeFlags } from '@bay-booking/service/node-flags';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
// biome-ignore lint/suspicious/noExplicitAny: documents of many kinds, looked at by path
type Document = any;

const variablesOf = (app: string): ReadonlySet<string> =>
  new Set([...read(`apps/${app}/src/config.ts`).matchAll(/'([A-Z][A-Z_]{3,})'/g)].map((match) => match[1] as string));
const elsewhere = new Set(['NODE_ENV']);

describe('images', () => {
  const dockerfile = read('infra/docker/Dockerfile');

  test.each(globSync('infra/**/Dockerfile', { cwd: root }))('%s knows two base images at most', (file) => {
    const stages = new Set([...read(file).matchAll(/^FROM \S+ AS (\S+)/gm)].map((match) => match[1]));
    const bases = [...read(file).matchAll(/^FROM (\S+)/gm)]
      .map((match) => match[1] as string)
      .filter((base) => !stages.has(base));
    for (const base of bases) expect(['node:24-bookworm-slim', 'postgres:18']).toContain(base);
  });

  test.each(['auth', 'bookings'] as const)(
    '%s runs Node itself, as an ordinary user, and says how it does',
    (target) => {
      const stage = dockerfile.slice(dockerfile.indexOf(`FROM runtime AS ${target}`)).split(/^FROM /m)[1] as string;
      expect(stage).toMatch(/^USER node$/m);
      const command = ['node', ...nodeFlags[target], 'src/main.ts'];
      expect(stage).toContain(`\nCMD ${JSON.stringify(command).replaceAll(',', ', ')}\n`);
      const { scripts } = JSON.parse(read(`apps/${target}/package.json`));
      const cache = `NODE_COMPILE_CACHE=\${NODE_COMPILE_CACHE-../../${compileCache}}`;
      expect(scripts.start).toBe(`${cache} exec ${command.join(' ')}`);
      expect(stage).toMatch(/^HEALTHCHECK .*\/health\/ready/m);
    },
  );

  test('the manifest of every workspace is there for npm ci', () => {
    const manifests = globSync('{apps,packages}/*/package.json', { cwd: root });
    for (const manifest of [...manifests, 'tests/package.json', 'bench/package.json']) {
      expect(dockerfile).toContain(`COPY ${manifest} `);
    }
  });

  test('a service imports no package that its image lacks', () => {
    for (const app of ['auth', 'bookings']) {
      const { dependencies } = JSON.parse(read(`apps/${app}/package.json`));
      const ours = Object.keys(dependencies).filter((name) => name.startsWith('@bay-booking/'));
      expect(ours).toContain('@bay-booking/service');
      expect(ours.filter((name) => !/\/(common|service)$/.test(name))).toEqual([]);
    }
  });
});

describe('docker-compose.yml', () => {
  const compose: Document = parse(read('docker-compose.yml'), { merge: true });
  const services = Object.entries<Document>(compose.services);

  test('the services can write nowhere, may do nothing special and do not become more', () => {
    for (const [name, service] of services) {
      if (!service.build) continue;
      expect({ name, ...service }).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
    }
  });

  test('from outside only the proxy can be reached', () => {
    const open = services.filter(([, { ports = [] }]) =>
      ports.some((port: string) => !String(port).startsWith('127.0.0.1:')),
    );
    expect(open.map(([name]) => name)).toEqual(['proxy']);
  });

  test('every secret comes from the environment, and its default says what it is', () => {
    const secrets = [
      ...read('docker-compose.yml').matchAll(/\$\{(\w*(?:PASSWORD|SECRET|COOKIE_KEYS)\w*)(?::-([^}]*))?\}/g),
    ];
    expect(secrets.length).toBeGreaterThan(8);
    for (const [, name, value] of secrets)
      expect([name, value]).toEqual([name, expect.stringMatching(/^DEVELOPMENT-ONLY/)]);
    const key = /\$\{KEY_ENCRYPTION_KEY:-([^}]+)\}/.exec(read('docker-compose.yml'))?.[1] as string;
    expect(Buffer.from(key, 'base64').toString()).toMatch(/^DEVELOPMENT-ONLY.{16}$/);
  });

  test.each(['auth', 'bookings'])('%s gets only variables that it reads', (app) => {
    const known = variablesOf(app);
    const given = Object.keys(compose.services[app].environment);
    expect(given.filter((name) => !known.has(name) && !elsewhere.has(name))).toEqual([]);
  });

  test('the services connect as roles that own nothing, migrations as the owner', () => {
    for (const app of ['auth', 'bookings']) {
      expect(compose.services[app].environment.DATABASE_URL).toContain(`//${app}_service:`);
      expect(compose.services[`${app}-migrate`].environment.DATABASE_URL).toContain(`//${app}_owner:`);
    }
  });
});

describe('alerts and dashboards', () => {
  const rules: Document[] = parse(read('infra/prometheus/alerts.yml')).groups.flatMap((group: Document) => group.rules);
  const runbook = read('docs/operations.md');
  const anchors = new Set(
    [...runbook.matchAll(/^#+ (.+)$/gm)].map((match) =>
      (match[1] as string)
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  );

  test.each(rules.filter((rule) => rule.alert).map((rule) => [rule.alert, rule]))(
    '%s has its entry in the runbook',
    (_, rule) => {
      const [file, anchor] = rule.annotations.runbook.split('#');
      expect(file).toBe('docs/operations.md');
      expect([...anchors]).toContain(anchor);
      expect(rule.labels.severity).toMatch(/^(page|ticket)$/);
    },
  );

  test.each(['auth', 'bookings'])(
    'the dashboard of %s shows rate, errors and duration, the pool and the event loop',
    (app) => {
      const dashboard = JSON.parse(read(`infra/grafana/dashboards/${app}.json`));
      const expressions = dashboard.panels.flatMap((panel: Document) =>
        panel.targets.map((target: Document) => target.expr),
      );
      expect(expressions.length).toBeGreaterThan(12);
      for (const expression of expressions) expect(expression).toContain(`service="${app}"`);
      const all = expressions.join('\n');
      for (const name of [
        'http_request_duration_seconds_count',
        'http_request_duration_seconds_bucket',
        'database_pool_connections',
        'nodejs_eventloop_lag_p99_seconds',
      ]) {
        expect(all).toContain(name);
      }
    },
  );
});

test('the first-start script of PostgreSQL can be executed', () => {
  expect(statSync(join(root, 'infra/postgres/init.sh')).mode & constants.S_IXUSR).not.toBe(0);
});
