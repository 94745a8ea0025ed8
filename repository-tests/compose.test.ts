// Checks docker-compose.yml: privileges, logs, ports, secrets, and the environment variables of the services.
import { read } from '@bay-booking/testkit/repository';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { type Document, variablesOf } from './support/infrastructure.ts';

describe('docker-compose.yml', () => {
  // `merge` resolves the YAML merge keys of the file, such as `<<: *service`.
  const compose: Document = parse(read('docker-compose.yml'), { merge: true });
  const services = Object.entries<Document>(compose.services);
  /** The services whose images are built from this repository. Only these images have the prefix `localhost/`. */
  const ours = services.filter(([, { image }]) => image.startsWith('localhost/'));

  test('the containers of our images have read-only file systems and no privileges', () => {
    const apps = ['auth', 'auth-demo', 'auth-migrate', 'bookings', 'bookings-demo', 'bookings-migrate'];
    expect(ours.map(([name]) => name).toSorted()).toEqual([...apps, 'proxy']);
    for (const [name, service] of ours) {
      expect({ name, ...service }).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
    }
  });

  test('the logs of our long-running services are limited', () => {
    const longRunning = ours.filter(([, { restart }]) => restart !== 'no');
    expect(longRunning.map(([name]) => name).toSorted()).toEqual(['auth', 'bookings', 'proxy']);
    // Unlike Docker's default log driver, the driver `local` limits the size of the logs without further options.
    for (const [, { logging }] of longRunning) expect(logging).toEqual({ driver: 'local' });
  });

  test('only the proxy can be reached from other machines', () => {
    const reachable = services.filter(([, { ports = [] }]) =>
      ports.some((port: string) => !String(port).startsWith('127.0.0.1:')),
    );
    expect(reachable.map(([name]) => name)).toEqual(['proxy']);
  });

  test('every secret comes from the environment, and its default is marked as for development only', () => {
    const variables = services.flatMap(([, { environment = {} }]) => Object.entries<string>(environment));
    const secrets = variables.flatMap(([name, value]) => {
      const passwordInUrl = /:\/\/\w+:(.+)@/.exec(value)?.[1];
      return passwordInUrl ?? (/PASSWORD|SECRET|COOKIE_KEYS|ENCRYPTION_KEY/.test(name) ? value : []);
    });
    expect(secrets.length).toBeGreaterThan(8);
    for (const secret of secrets) {
      // For example, `${GRAFANA_PASSWORD:-DEVELOPMENT-ONLY-grafana}`.
      const [, name, value = ''] = /^\$\{(\w+):-(.+)\}$/.exec(secret) ?? [];
      // KEY_ENCRYPTION_KEY is 32 characters in base64: the 16 characters of `DEVELOPMENT-ONLY`, and 16 others.
      const isKey = name === 'KEY_ENCRYPTION_KEY';
      const text = isKey ? Buffer.from(value, 'base64').toString() : value;
      const pattern = isKey ? /^DEVELOPMENT-ONLY.{16}$/ : /^DEVELOPMENT-ONLY/;
      // Without `secret` in the comparison, the message of a failure would not name the environment variable.
      expect({ secret, text }).toEqual({ secret, text: expect.stringMatching(pattern) });
    }
  });

  test.each(['auth', 'bookings'])(
    'every environment variable that docker-compose.yml sets for %s is read by the app',
    (app) => {
      const known = variablesOf(app);
      const variables = Object.keys(compose.services[app].environment);
      expect(variables.filter((name) => !known.has(name))).toEqual([]);
    },
  );

  test('each image is built by only one service, because parallel builds of one image fail', () => {
    const built = services.filter(([, { build }]) => build).map(([, { image }]) => image);
    expect(built.toSorted()).toEqual(['auth', 'bookings', 'proxy'].map((name) => `localhost/bay-booking-${name}`));
  });

  test('services connect to the database as the role of the service, and migrations as the owner of the tables', () => {
    for (const app of ['auth', 'bookings']) {
      expect(compose.services[app].environment.DATABASE_URL).toContain(`//${app}_service:`);
      expect(compose.services[`${app}-migrate`].environment.DATABASE_URL).toContain(`//${app}_owner:`);
    }
  });
});
