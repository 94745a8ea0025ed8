// Reads a module and every module that it imports, as JavaScript for browsers. There is no build step: Node's own type
// stripper turns TypeScript into JavaScript.
import { readFileSync } from 'node:fs';
import { findPackageJSON, stripTypeScriptTypes } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const repository = join(import.meta.dirname, '../../../..');
/** The specifier of a static import or a re-export. Types are already stripped. */
const specifierPattern = /^((?:import|export)\b(?:[^;'"=(]*\bfrom)?\s*)(['"])([^'"]+)\2/gm;

export interface Module {
  /** Is unique among the modules, so one folder can hold them all. */
  readonly name: string;
  readonly source: string;
}

/** The first module is `entry`. In every module, the imports name the other modules as files of the same folder. */
export function readModules(entry: string): readonly Module[] {
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
