// Prints an SBOM (CycloneDX) of what is installed here: the npm packages, Node.js, and the packages of Debian.
// `npm sbom` describes the lock file, which also has the packages of other platforms, tests and workspaces.
//   node infra/docker/sbom.ts NAME [DPKG_STATUS]      for example /var/lib/dpkg/status in an image
import { existsSync, readFileSync } from 'node:fs';

const [name = 'bay-booking', dpkgStatus] = process.argv.slice(2);

interface InstalledPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly link?: boolean;
}

interface DebianPackage {
  readonly Package: string;
  readonly Version: string;
  readonly Architecture: string;
}

/** npm writes this file with every package that it has installed. */
const { packages } = JSON.parse(readFileSync('node_modules/.package-lock.json', 'utf8')) as {
  packages: Record<string, InstalledPackage>;
};

function npmComponent(path: string, { version, integrity, license }: InstalledPackage) {
  const packageName = path.replace(/^.*node_modules\//, '');
  const [algorithm, hash = ''] = integrity?.split('-', 2) ?? [];
  return {
    type: 'library',
    name: packageName,
    version,
    purl: `pkg:npm/${packageName.replace('@', '%40')}@${version}`,
    ...(license && { licenses: [/[ (]/.test(license) ? { expression: license } : { license: { id: license } }] }),
    ...(algorithm === 'sha512' && {
      hashes: [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }],
    }),
  };
}

function debianPackages(): readonly DebianPackage[] {
  if (dpkgStatus === undefined) return [];
  const paragraphs = readFileSync(dpkgStatus, 'utf8').split('\n\n');
  return paragraphs
    .filter((paragraph) => paragraph.includes('\nStatus: install ok installed'))
    .map((paragraph) =>
      Object.fromEntries([...paragraph.matchAll(/^(\w+): (.*)$/gm)].map(([, key, value]) => [key, value])),
    );
}

const components = [
  { type: 'platform', name: 'node', version: process.versions.node, purl: `pkg:generic/node@${process.versions.node}` },
  ...Object.entries(packages)
    .filter(([path, { link }]) => !link && path.includes('node_modules/') && existsSync(path))
    .map(([path, installed]) => npmComponent(path, installed)),
  ...debianPackages().map(({ Package, Version, Architecture }) => ({
    type: 'library',
    name: Package,
    version: Version,
    purl: `pkg:deb/debian/${Package}@${encodeURIComponent(Version)}?arch=${Architecture}`,
  })),
];
const metadata = { timestamp: new Date().toISOString(), component: { type: 'application', name } };
process.stdout.write(
  `${JSON.stringify({ bomFormat: 'CycloneDX', specVersion: '1.5', version: 1, metadata, components })}\n`,
);
