// Tests `npm run release` in a small repository.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { read, root } from '@bay-booking/testkit/repository';
import { afterEach, beforeEach, expect, test } from '@jest/globals';

let folder: string;
const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.org'];
const environment = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' };
const git = (...parameters: string[]) =>
  execFileSync('git', [...identity, ...parameters], { cwd: folder, encoding: 'utf8', env: environment });
const write = (file: string, content: string) => {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), content);
};
const json = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8'));
const release = (version: string) =>
  spawnSync(process.execPath, [join(root, 'infra/release/release.ts'), version], {
    cwd: folder,
    encoding: 'utf8',
    env: {
      ...environment,
      GIT_AUTHOR_NAME: 'Test',
      GIT_AUTHOR_EMAIL: 'test@example.org',
      GIT_COMMITTER_NAME: 'Test',
      GIT_COMMITTER_EMAIL: 'test@example.org',
    },
  });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bay-booking-release-'));
  write('package.json', JSON.stringify({ version: '0.9.1', workspaces: ['apps/*'] }));
  write('apps/auth/package.json', JSON.stringify({ name: 'auth', version: '0.9.1' }));
  write(
    'package-lock.json',
    JSON.stringify({ version: '0.9.1', packages: { '': {}, 'apps/auth': {}, 'node_modules/a': { version: '1.0.0' } } }),
  );
  const overlay = 'infra/kubernetes/overlays/production/kustomization.yaml';
  write(overlay, read(overlay));
  write(
    'CHANGELOG.md',
    '# Changelog\n\n## Unreleased\n\n### Added\n\n- **auth**: a thing.\n\n## 0.9.1 - 2026-01-01\n\n- Old.\n',
  );
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '-m', 'First');
  git('tag', 'v0.9.1');
});
afterEach(() => rmSync(folder, { recursive: true }));

test('a release has its version everywhere, a section in CHANGELOG.md, a commit, and a tag with its notes', () => {
  expect(release('0.10.0')).toMatchObject({ status: 0, stderr: '' });
  for (const file of ['package.json', 'apps/auth/package.json', 'package-lock.json'])
    expect(json(file).version).toBe('0.10.0');
  expect(json('package-lock.json').packages).toMatchObject({
    'apps/auth': { version: '0.10.0' },
    'node_modules/a': { version: '1.0.0' },
  });
  expect(readFileSync(join(folder, 'infra/kubernetes/overlays/production/kustomization.yaml'), 'utf8')).toContain(
    'newName: registry.example/bay-booking/auth, newTag: "0.10.0"',
  );
  expect(readFileSync(join(folder, 'CHANGELOG.md'), 'utf8')).toMatch(
    /## Unreleased\n\n## 0\.10\.0 - \d{4}-\d\d-\d\d\n\n### Added\n\n- \*\*auth\*\*: a thing\.\n\n## 0\.9\.1/,
  );
  expect(git('status', '--porcelain')).toBe('');
  expect(git('describe', '--tags').trim()).toBe('v0.10.0');
  const notes = git('tag', '-l', '--format=%(contents)', 'v0.10.0');
  expect(notes).toContain('### Added\n\n- **auth**: a thing.');
  expect(notes).not.toContain('Old.');
});

test('the version of package.json can be released if it has no tag', () => {
  git('tag', '--delete', 'v0.9.1');
  expect(release('0.9.1')).toMatchObject({ status: 0, stderr: '' });
  expect(git('tag').trim()).toBe('v0.9.1');
});

test.each([
  ['0.9.1', 'is not above 0.9.1'],
  ['0.8.9', 'is not above 0.9.1'],
  ['next', 'usage:'],
])('the version %s is rejected, and nothing changes', (version, message) => {
  expect(release(version)).toMatchObject({ status: 1, stderr: expect.stringContaining(message) });
  expect(git('status', '--porcelain')).toBe('');
});

test('uncommitted changes and an empty section are rejected', () => {
  write('new.txt', 'x');
  expect(release('1.0.0').stderr).toContain('commit or stash');
  write('CHANGELOG.md', '# Changelog\n\n## Unreleased\n\n## 0.9.1 - 2026-01-01\n');
  git('add', '.');
  git('commit', '--quiet', '-m', 'Second');
  expect(release('1.0.0').stderr).toContain('is empty');
  expect(git('tag').trim()).toBe('v0.9.1');
});
