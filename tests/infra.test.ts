// Is what infra/ describes what the services are? Images, compose, alerts and dashboards, read offline and held against the
// sources.
import { constants, globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { collectProcessMetrics, createMetrics } from '@bay-booking/service/metrics';
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
      expect(stage).toMatch(/^COPY .*\/start\.sh /m);
      expect(stage).toMatch(/\nCMD \["sh", "start\.sh"\]\n/);
      // With exec, Node replaces the shell and receives SIGTERM itself.
      expect(read(`apps/${target}/start.sh`)).toMatch(/^exec node --max-semi-space-size=\d+ "\$@" src\/main\.ts$/m);
      expect(JSON.parse(read(`apps/${target}/package.json`)).scripts.start).toBe('exec sh start.sh');
      expect(stage).toMatch(/^HEALTHCHECK .*\/health\/ready/m);
    },
  );

  test('the proxy finishes what it has begun', () => {
    // Of nginx's two ways to stop only SIGQUIT waits; the other one is Docker's default.
    expect(read('infra/proxy/Dockerfile')).toMatch(/^STOPSIGNAL SIGQUIT$/m);
    expect(read('infra/proxy/start.sh')).toMatch(/^exec nginx /m);
  });

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
    const ours = services.filter(([, { image }]) => image.startsWith('localhost/'));
    expect(ours).toHaveLength(7);
    for (const [name, service] of ours) {
      expect({ name, ...service }).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
    }
  });

  test('what runs on keeps its log within bounds', () => {
    const lasting = services.filter(([, { image, restart }]) => image.startsWith('localhost/') && restart !== 'no');
    expect(lasting.map(([name]) => name).toSorted()).toEqual(['auth', 'bookings', 'proxy']);
    for (const [, { logging }] of lasting) expect(logging).toEqual({ driver: 'local' });
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

  test('an image is built by one service alone: built twice at once, one of the two finds it there already and fails', () => {
    const built = services.filter(([, { build }]) => build).map(([, { image }]) => image);
    expect(built.toSorted()).toEqual(['auth', 'bookings', 'proxy'].map((name) => `localhost/bay-booking-${name}`));
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
  const dashboards = globSync('infra/grafana/dashboards/*.json', { cwd: root });
  const runbook = read('docs/operations/runbook.md');
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
      expect(file).toBe('docs/operations/runbook.md');
      expect([...anchors]).toContain(anchor);
      expect(rule.labels.severity).toMatch(/^(page|ticket)$/);
    },
  );

  test('each alert is tried: promtool test rules infra/prometheus/alerts.test.yml', () => {
    const tried = read('infra/prometheus/alerts.test.yml');
    for (const { alert } of rules.filter((rule) => rule.alert)) expect(tried).toContain(`alertname="${alert}"`);
  });

  test('what alerts, dashboards and documents ask for is measured', () => {
    const metrics = createMetrics('any');
    collectProcessMetrics(metrics);
    const measured = new Set(metrics.registry.getMetricsAsArray().map(({ name }) => name));
    for (const file of [
      'packages/service/src/database/metrics.ts',
      ...globSync('apps/*/src/metrics.ts', { cwd: root }),
    ])
      for (const [, name] of read(file).matchAll(/name: '(\w+)'/g)) measured.add(name as string);
    for (const name of ['up', 'ALERTS', ...rules.map(({ record }) => record)]) measured.add(name);

    const panels = dashboards.flatMap((file) => JSON.parse(read(file)).panels);
    const expressions: string[] = [
      ...rules.map(({ expr }) => expr),
      ...panels.flatMap(({ targets }: Document) => targets.map((target: Document) => target.expr)),
    ];
    const asked = new Set([
      // A name before a selector, a range or an operator; neither a function nor a label.
      ...expressions.flatMap((expression) =>
        [
          ...expression
            .replace(/"[^"]*"|\bby \([^)]*\)/g, '')
            .matchAll(/[a-z][\w:]*(_[a-z0-9]+|:\w+)\b(?=\s*[{[)>=]|$)/g),
        ]
          .map(([name]) => name)
          .filter((name) => name !== 'histogram_quantile'),
      ),
      ...[...runbook.matchAll(/`(\w+_\w+)\{/g)].map((match) => match[1] as string),
      ...[
        ...(/\| metric \|[\s\S]*?\n\n/.exec(read('docs/operations/observe.md'))?.[0] ?? '').matchAll(
          /^\| (`.*?`) \|/gm,
        ),
      ].flatMap(([, cell]) => [...(cell as string).matchAll(/`(\w+)`/g)].map((match) => match[1] as string)),
    ]);
    expect(asked.size).toBeGreaterThan(20);
    const known = (name: string) => measured.has(name) || measured.has(name.replace(/_(bucket|count|sum)$/, ''));
    expect([...asked].filter((name) => !known(name))).toEqual([]);
  });

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
