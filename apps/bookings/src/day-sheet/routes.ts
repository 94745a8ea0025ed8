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
import { mountApiPath } from '../http/response.ts';
import {
  type Asset,
  contentSecurityPolicy,
  createAsset,
  createPublicDocument,
  css,
  immutable,
  javaScript,
  mountAssets,
  readIcon,
  readPageStyles,
  sendDocument,
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
  const [beforeSignIn = [], afterSignIn = []] = readModules(['start.ts', 'main.ts']);
  const modules = [...beforeSignIn, ...afterSignIn];
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
  const eta = new Eta({ views: import.meta.dirname });
  const createPage = (preloaded: readonly Asset[]) =>
    createPublicDocument(
      eta.render('page', {
        basePath,
        baseUrl,
        authIssuer,
        clientId,
        scopes: `openid ${scopes.write} ${scopes.schedule}`,
        icon: basePath + readIcon().path,
        styles: [readPageStyles(), styles].map(({ path }) => basePath + path),
        scripts: preloaded.map(({ path }) => basePath + path),
      }),
      {
        'Content-Type': 'text/html; charset=utf-8',
        'Cache-Control': 'no-cache',
        'Content-Security-Policy': contentSecurityPolicy({ baseUrl, authIssuer }),
      },
    );
  const [start, signedIn] = [createPage(scripts.slice(0, beforeSignIn.length)), createPage(scripts)];
  mountApiPath(app, '/day', {
    // Express also matches the path with a slash at the end, which is the redirect URI of the client. Loading the other
    // modules only there shortens the way from a reload to a day of 3,000 bookings from 2.0 to 1.65 s.
    GET: (request, response) => sendDocument(request, response, request.path.endsWith('/') ? signedIn : start),
  });
}

// There is no build step: Node's own type stripper turns TypeScript into JavaScript for browsers.
const repository = join(import.meta.dirname, '../../../..');
/** The specifier of an import or a re-export. Types are already stripped. */
const specifierPattern = /(^(?:import|export)\b(?:[^;'"=(]*\bfrom)?\s*|\bimport\()(['"])([^'"]+)\2/gm;

interface Module {
  /** Is unique among the modules, so one folder can hold them all. */
  readonly name: string;
  readonly source: string;
}

/**
 * Returns, for each entry, the module and those that it imports, without the modules of the entries before. In every
 * module, the imports name the other modules as files of the same folder. An entry can be imported with `import()`.
 */
function readModules(entries: readonly string[]): readonly (readonly Module[])[] {
  const modules = new Map<string, Module>();
  const read = (path: string): void => {
    if (modules.has(path)) return;
    const text = readFileSync(path, 'utf8');
    const source = path.endsWith('.ts') ? stripTypeScriptTypes(text) : text;
    const imported: string[] = [];
    const rewritten = source.replace(specifierPattern, (_match, start: string, quote: string, specifier: string) => {
      const target = resolveImport(specifier, path);
      if (!start.endsWith('(')) imported.push(target);
      return `${start}${quote}./${nameOf(target)}${quote}`;
    });
    modules.set(path, { name: nameOf(path), source: rewritten });
    imported.forEach(read);
  };
  return entries.map((entry) => {
    const before = modules.size;
    read(join(folder, entry));
    return [...modules.values()].slice(before);
  });
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
