// Serves the day sheet: the page where the people at a range see and change their day, through the public API.
import { readFileSync } from 'node:fs';
import { findPackageJSON, stripTypeScriptTypes } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Scopes } from '@bay-booking/common/scopes';
import { contentHash } from '@bay-booking/service/http/etag';
import { Eta } from 'eta';
import type { Express } from 'express';
import { basePathOf } from '../http/request-path.ts';
import {
  contentSecurityPolicy,
  createAsset,
  createPublicDocument,
  css,
  immutable,
  javaScript,
  mountAssets,
  mountDocument,
  readIcon,
  readPageStyles,
} from '../openapi/public-document.ts';

export interface DaySheetOptions {
  readonly baseUrl: string;
  readonly authIssuer: string;
  /** The public client at auth that signs the users in. */
  readonly clientId: string;
  readonly scopes: Scopes;
}

/** The files that the browser gets. */
const folder = join(import.meta.dirname, '../../day-sheet');

export function mountDaySheet(app: Express, { baseUrl, authIssuer, clientId, scopes }: DaySheetOptions): void {
  const modules = readModules(join(folder, 'main.ts'));
  // A module imports the others from its own folder, so all modules have the hash of their common content.
  const hash = contentHash(Buffer.from(modules.map(({ source }) => source).join('\n')));
  const scripts = modules.map(({ name, source }) => ({
    ...createPublicDocument(source, { 'Content-Type': javaScript, 'Cache-Control': immutable }),
    path: `/day/assets/${hash}/${name}`,
  }));
  const styles = createAsset('day-sheet.css', css, readFileSync(join(folder, 'day-sheet.css')), '/day/assets');
  const assets = [...scripts, styles];
  mountAssets(app, '/day/assets/{hash}/{name}', assets);

  const basePath = basePathOf(baseUrl);
  const page = new Eta({ views: import.meta.dirname }).render('page', {
    basePath,
    baseUrl,
    authIssuer,
    clientId,
    scopes: `openid ${scopes.write} ${scopes.schedule}`,
    icon: basePath + readIcon().path,
    styles: [readPageStyles(), styles].map(({ path }) => basePath + path),
    scripts: scripts.map(({ path }) => basePath + path),
  });
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'no-cache',
    'Content-Security-Policy': contentSecurityPolicy({ baseUrl, authIssuer }),
  };
  // Express also matches this path with a slash at the end, which is the redirect URI of the client.
  mountDocument(app, '/day', createPublicDocument(page, headers));
}

// There is no build step: Node's own type stripper turns TypeScript into JavaScript for browsers.
const repository = join(import.meta.dirname, '../../../..');
/** The specifier of a static import or a re-export. Types are already stripped. */
const specifierPattern = /^((?:import|export)\b(?:[^;'"=(]*\bfrom)?\s*)(['"])([^'"]+)\2/gm;

interface Module {
  /** Is unique among the modules, so one folder can hold them all. */
  readonly name: string;
  readonly source: string;
}

/** The first module is `entry`. In every module, the imports name the other modules as files of the same folder. */
function readModules(entry: string): readonly Module[] {
  const modules = new Map<string, Module>();
  const read = (path: string): void => {
    if (modules.has(path)) return;
    const text = readFileSync(path, 'utf8');
    const source = path.endsWith('.ts') ? stripTypeScriptTypes(text) : text;
    const imported: string[] = [];
    const rewritten = source.replace(specifierPattern, (_match, start: string, quote: string, specifier: string) => {
      const target = resolveImport(specifier, path);
      imported.push(target);
      return `${start}${quote}./${nameOf(target)}${quote}`;
    });
    modules.set(path, { name: nameOf(path), source: rewritten });
    imported.forEach(read);
  };
  read(entry);
  return [...modules.values()];
}

const nameOf = (path: string): string =>
  relative(repository, path)
    .replace(/^node_modules\//, '')
    .replace(/\.ts$/, '.js')
    .replaceAll('/', '-');

function resolveImport(specifier: string, importer: string): string {
  if (specifier.startsWith('.')) return join(dirname(importer), specifier);
  // packages/client is not built in this repository.
  if (specifier === '@bay-booking/client')
    return join(dirname(findPackageJSON(specifier, import.meta.url) ?? ''), 'src/client.ts');
  return fileURLToPath(import.meta.resolve(specifier));
}
