// Finds and reads files of this repository, and extracts the imports of a module and the parts of a Markdown text. The
// tests of the layout, documents and infrastructure of the repository use this file.
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';

export const root = join(import.meta.dirname, '../../..');
export const read = (file: string): string => readFileSync(join(root, file), 'utf8');

const ignoredFolders = ['node_modules', '.data', 'generated', 'dist'];

/** Returns paths that are relative to the root of the repository. Leaves out dependencies and generated files. */
export const findFiles = (...patterns: readonly string[]): readonly string[] =>
  globSync(patterns, { cwd: root, exclude: (path) => ignoredFolders.includes(basename(path)) }).toSorted();

/** The source files of the apps and packages, without tests and type declarations. */
export const modules = findFiles('{apps,packages}/*/src/**/*.ts').filter((file) => !/\.(test|d)\.ts$/.test(file));

export interface Import {
  readonly from: string;
  /** The path of a file, relative to the root of the repository, or the name of a package. */
  readonly to: string;
  /** Whether this is an `import type`, which does not exist at run time. */
  readonly isTypeOnly: boolean;
}

/** Returns every import of a module: `import … from`, `export … from`, `import '…'` and `import('…')`. */
export function importsOf(file: string): readonly Import[] {
  const statements = /^\s*(?:import|export)\b[^;'"]*?from\s+'([^']+)'|^\s*import\s+'([^']+)'|import\('([^']+)'\)/gm;
  return [...read(file).matchAll(statements)].map(([statement, from, sideEffect, dynamic]) => {
    const target = (from ?? sideEffect ?? dynamic) as string;
    return {
      from: file,
      to: target.startsWith('.') ? normalize(join(dirname(file), target)) : target,
      isTypeOnly: /^\s*import type\b/.test(statement),
    };
  });
}

/** Returns the code blocks of a Markdown text. The language is empty if the block names none. */
export const codeBlocks = (markdown: string): readonly { language: string; text: string }[] =>
  [...markdown.matchAll(/^ *```(.*)\n([\s\S]*?)^ *```$/gm)].map(([, language = '', text = '']) => ({ language, text }));

/** Returns the `sh` code blocks of a Markdown text. Readers paste these commands into a shell. */
export const shellBlocks = (markdown: string): readonly string[] =>
  codeBlocks(markdown).flatMap(({ language, text }) => (language === 'sh' ? [text] : []));

export const headingsOf = (markdown: string): readonly string[] =>
  [...markdown.matchAll(/^#+ (.+)$/gm)].map((match) => match[1] as string);

/** Returns the anchors that GitHub creates from the section titles of a Markdown text. */
export const anchorsOf = (markdown: string): readonly string[] =>
  headingsOf(markdown).map((title) =>
    title
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
