// Makes a release: `npm run release -- 1.0.0` writes the version into every package.json, the lock file and the
// production overlay, gives the section "Unreleased" of CHANGELOG.md its version and date, commits, and tags the commit.
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';

const git = (...parameters: string[]): string => execFileSync('git', parameters, { encoding: 'utf8' }).trim();

function fail(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
}

function rewrite(file: string, change: (text: string) => string): void {
  writeFileSync(file, change(readFileSync(file, 'utf8')));
}

function rewriteJson(file: string, change: (content: Record<string, unknown>) => void): void {
  rewrite(file, (text) => {
    const content = JSON.parse(text);
    change(content);
    return `${JSON.stringify(content, null, 2)}\n`;
  });
}

const numbersOf = (version: string): readonly number[] => version.split('.').map(Number);

const [version = ''] = process.argv.slice(2);
const { version: current, workspaces } = JSON.parse(readFileSync('package.json', 'utf8'));
if (!/^\d+\.\d+\.\d+$/.test(version)) fail('usage: npm run release -- MAJOR.MINOR.PATCH');
const [from, to] = [numbersOf(current), numbersOf(version)];
const changed = to.findIndex((number, index) => number !== from[index]);
// Before the first release, package.json has its version, and no tag does.
const isTagged = git('tag', '--list', `v${version}`) !== '';
if (isTagged || (changed !== -1 && (to[changed] as number) < (from[changed] as number)))
  fail(`${version} is not above ${current}`);
if (git('status', '--porcelain')) fail('commit or stash your changes first');

const unreleased = '## Unreleased\n';
const changelog = readFileSync('CHANGELOG.md', 'utf8');
const notes = changelog.split(unreleased)[1]?.split(/^## /m)[0]?.trim();
if (!notes) fail('the section "Unreleased" of CHANGELOG.md is empty');

const folders: string[] = workspaces.flatMap((pattern: string) =>
  globSync(`${pattern}/package.json`).map((file) => file.replace('/package.json', '')),
);
for (const file of ['package.json', ...folders.map((folder) => `${folder}/package.json`)])
  rewriteJson(file, (manifest) => {
    manifest.version = version;
  });
rewriteJson('package-lock.json', (lock) => {
  lock.version = version;
  const packages = lock.packages as Record<string, { version?: string }>;
  for (const folder of ['', ...folders]) if (packages[folder]) packages[folder].version = version;
});
rewrite('infra/kubernetes/overlays/production/kustomization.yaml', (text) =>
  text.replaceAll(/newTag: "[^"]*"/g, `newTag: "${version}"`),
);
const date = new Date().toISOString().slice(0, 10);
rewrite('CHANGELOG.md', (text) => text.replace(unreleased, `${unreleased}\n## ${version} - ${date}\n`));

git('commit', '--all', '--quiet', '-m', `Release ${version}`);
// The message of the tag is the release notes. By default, git would remove the headings as comments.
git('tag', '--annotate', `v${version}`, '--cleanup=verbatim', '-m', `Release ${version}\n\n${notes}`);
process.stdout.write(`v${version} is tagged: git push --follow-tags\n`);
