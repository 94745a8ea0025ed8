// Checks the Dockerfiles: their base images, users and start commands, and the packages that the images contain. Also
// checks the initialization script of the PostgreSQL container.
import { constants, statSync } from 'node:fs';
import { join } from 'node:path';
import { findFiles, read, root } from '@bay-booking/testkit/repository';
import { describe, expect, test } from '@jest/globals';

describe('images', () => {
  const dockerfile = read('infra/docker/Dockerfile');

  test.each(findFiles('infra/**/Dockerfile'))(
    '%s uses only the base images node:24-bookworm-slim and postgres:18',
    (file) => {
      const stages = new Set([...read(file).matchAll(/^FROM \S+ AS (\S+)/gm)].map((match) => match[1]));
      const bases = [...read(file).matchAll(/^FROM (\S+)/gm)]
        .map((match) => match[1] as string)
        .filter((base) => !stages.has(base));
      for (const base of bases) expect(base).toMatch(/^(node:24-bookworm-slim|postgres:18)(@sha256:[0-9a-f]{64})?$/);
    },
  );

  test.each(['auth', 'bookings'] as const)(
    'the image of %s runs Node directly, as an ordinary user, and has a health check',
    (target) => {
      // The part of the Dockerfile from this FROM to the next one.
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

  test('the proxy completes the requests in progress when it is stopped', () => {
    // nginx waits for its requests on SIGQUIT, but not on SIGTERM, which Docker sends by default.
    expect(read('infra/proxy/Dockerfile')).toMatch(/^STOPSIGNAL SIGQUIT$/m);
    expect(read('infra/proxy/start.sh')).toMatch(/^exec nginx /m);
  });

  test('the Dockerfile of the services copies the package.json of every workspace, which npm ci needs', () => {
    const { workspaces } = JSON.parse(read('package.json'));
    const manifests = findFiles(...workspaces.map((folder: string) => `${folder}/package.json`));
    expect(manifests.length).toBeGreaterThan(10);
    for (const manifest of manifests) expect(dockerfile).toContain(`COPY ${manifest} `);
  });

  test('the image of a service contains every folder in which npm installs its dependencies', () => {
    const { packages } = JSON.parse(read('package-lock.json'));
    for (const app of ['auth', 'bookings']) {
      // For example, apps/auth/node_modules/a/node_modules/b is in the folder apps/auth/node_modules. Only
      // such folders of a workspace are checked, not the node_modules of the whole repository.
      const folders = Object.keys(packages)
        .map((path) => /^.*?node_modules(?=\/)/.exec(path)?.[0] ?? '')
        .filter((folder) => new RegExp(`^(apps/${app}|packages/(common|service))/`).test(folder));
      for (const folder of new Set(folders))
        expect(dockerfile).toContain(`COPY --from=${app}-dependencies /app/${folder} ${folder}\n`);
    }
  });

  test('a service depends only on the workspaces that its image contains: common and service', () => {
    for (const app of ['auth', 'bookings']) {
      const { dependencies } = JSON.parse(read(`apps/${app}/package.json`));
      const workspaces = Object.keys(dependencies).filter((name) => name.startsWith('@bay-booking/'));
      expect(workspaces).toContain('@bay-booking/service');
      expect(workspaces.filter((name) => !/\/(common|service)$/.test(name))).toEqual([]);
    }
  });
});

test('every action of the workflows is pinned by its commit', () => {
  const actions = findFiles('.github/workflows/*.yml').flatMap((file) => read(file).match(/uses: .*/g) ?? []);
  expect(actions.length).toBeGreaterThan(5);
  for (const action of actions) expect(action).toMatch(/@[0-9a-f]{40} # v[\d.]+$/);
});

test('the initialization script of the PostgreSQL container is executable', () => {
  expect(statSync(join(root, 'infra/postgres/init.sh')).mode & constants.S_IXUSR).not.toBe(0);
});
