// Checks the Dockerfiles: their base images, users and start commands, and the packages that the images contain. Also
// checks the initialization script of the PostgreSQL container.
import { execFileSync, spawnSync } from 'node:child_process';
import { constants, mkdirSync, mkdtempDisposableSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFiles, read, root } from '@bay-booking/testkit/repository';
import { describe, expect, test } from '@jest/globals';

describe('images', () => {
  const dockerfile = read('infra/docker/Dockerfile');

  test.each(findFiles('infra/**/Dockerfile'))(
    '%s uses only the base image of Debian 13 with Node 24, by its digest',
    (file) => {
      const [, image] = /^ARG NODE_IMAGE=(\S+)$/m.exec(read(file)) ?? [];
      expect(image).toMatch(/^node:24[.\d]*-trixie-slim@sha256:[0-9a-f]{64}$/);
      const stages = new Set([...read(file).matchAll(/^FROM \S+ AS (\S+)/gm)].map((match) => match[1]));
      const bases = [...read(file).matchAll(/^FROM (\S+)/gm)].map((match) => match[1]);
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the Dockerfile
      expect(new Set(bases.filter((base) => !stages.has(base)))).toEqual(new Set(['${NODE_IMAGE}']));
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
      expect(read(`apps/${target}/start.sh`)).toMatch(/^exec node --max-semi-space-size=\d+ .*"\$@" src\/main\.ts$/m);
      expect(JSON.parse(read(`apps/${target}/package.json`)).scripts.start).toBe('exec sh start.sh');
      expect(stage).toMatch(/^HEALTHCHECK .*\/health\/ready/m);
    },
  );

  test('an SBOM lists what is installed: packages of npm and Debian, and Node', () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), 'bay-booking-sbom-'));
    const lock = {
      '': { version: '1.0.0' },
      'apps/auth': { version: '1.0.0', link: true },
      'node_modules/@scope/a': { version: '2.0.0', license: 'MIT', integrity: 'sha512-AQI=' },
      'apps/auth/node_modules/b': { version: '3.0.0', license: '(MIT OR Apache-2.0)' },
      'node_modules/for-another-platform': { version: '4.0.0' },
    };
    for (const path of ['node_modules/@scope/a', 'apps/auth/node_modules/b'])
      mkdirSync(join(folder.path, path), { recursive: true });
    writeFileSync(join(folder.path, 'node_modules/.package-lock.json'), JSON.stringify({ packages: lock }));
    const installed = 'Package: libc6\nStatus: install ok installed\nArchitecture: amd64\nVersion: 2.41-12+deb13u1\n';
    const removed = 'Package: old\nStatus: deinstall ok config-files\nArchitecture: amd64\nVersion: 1\n';
    writeFileSync(join(folder.path, 'status'), `${installed}\n${removed}`);
    const script = join(root, 'infra/docker/sbom.ts');
    const output = execFileSync(process.execPath, [script, 'auth', 'status'], { cwd: folder.path, encoding: 'utf8' });
    const { bomFormat, metadata, components } = JSON.parse(output);
    expect({ bomFormat, name: metadata.component.name }).toEqual({ bomFormat: 'CycloneDX', name: 'auth' });
    expect(components.map(({ purl }: { purl: string }) => purl)).toEqual([
      `pkg:generic/node@${process.versions.node}`,
      'pkg:npm/%40scope/a@2.0.0',
      'pkg:npm/b@3.0.0',
      'pkg:deb/debian/libc6@2.41-12%2Bdeb13u1?arch=amd64',
    ]);
    expect(components[1]).toMatchObject({ licenses: [{ license: { id: 'MIT' } }], hashes: [{ content: '0102' }] });
    for (const app of ['auth', 'bookings'])
      expect(dockerfile).toContain(`RUN node sbom.ts ${app} /var/lib/dpkg/status > sbom.json\n`);
  });

  test('the proxy completes the requests in progress when it is stopped', () => {
    // nginx waits for its requests on SIGQUIT, but not on SIGTERM, which Docker sends by default.
    expect(read('infra/proxy/Dockerfile')).toMatch(/^STOPSIGNAL SIGQUIT$/m);
    expect(read('infra/proxy/start.sh')).toMatch(/^exec nginx /m);
  });

  test('the proxy passes the request lines that the services accept', () => {
    const [, header] = /maxHeaderSize: ([\d_]+)/.exec(read('packages/service/src/http/server.ts')) ?? [];
    const [, query] = /maxQuery = ([\d_]+)/.exec(read('apps/auth/src/http/corrected-request.ts')) ?? [];
    const numberOf = (digits = '') => Number(digits.replaceAll('_', ''));
    for (const file of ['infra/proxy/nginx.conf', 'infra/proxy/site.conf']) {
      expect(read(file)).toContain(`large_client_header_buffers 4 ${numberOf(header) / 1024}k;`);
      expect(read(file)).toContain(`if ($args ~ "^.{${numberOf(query) + 1}}") { return 400; }`);
    }
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
        .filter((folder) => new RegExp(`^(apps/${app}|packages/(common|records|service))/`).test(folder));
      for (const folder of new Set(folders))
        expect(dockerfile).toContain(`COPY --from=${app}-dependencies /app/${folder} ${folder}\n`);
    }
  });

  test('a service depends only on the workspaces that its image contains', () => {
    expect(dockerfile).toContain('COPY packages/client/src packages/client/src\n');
    for (const app of ['auth', 'bookings']) {
      const { dependencies } = JSON.parse(read(`apps/${app}/package.json`));
      const workspaces = Object.keys(dependencies).filter((name) => name.startsWith('@bay-booking/'));
      expect(workspaces).toContain('@bay-booking/service');
      expect(workspaces.filter((name) => !/\/(common|records|service)$/.test(name))).toEqual(
        app === 'bookings' ? ['@bay-booking/client'] : [],
      );
    }
  });
});

test('every action of the workflows is pinned by its commit', () => {
  const actions = findFiles('.github/workflows/*.yml').flatMap((file) => read(file).match(/uses: .*/g) ?? []);
  expect(actions.length).toBeGreaterThan(5);
  for (const action of actions) expect(action).toMatch(/@[0-9a-f]{40} # v[\d.]+$/);
});

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
(hasSystemd ? test : test.skip)('the unit of systemd is valid', () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'bay-booking-unit-'));
  const units = ['auth', 'bookings'].map((app) => join(folder.path, `bay-booking@${app}.service`));
  for (const unit of units) writeFileSync(unit, read('infra/systemd/bay-booking@.service'));
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', ...units], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

test('the initialization script of the PostgreSQL container is executable', () => {
  expect(statSync(join(root, 'infra/postgres/init.sh')).mode & constants.S_IXUSR).not.toBe(0);
});
