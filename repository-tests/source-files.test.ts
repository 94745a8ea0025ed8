// Checks the source files and documents: the names and folders of source files, the sentence about the purpose at the
// start of each source file, the length of lines, and that no file cites the contract.
import { findFiles, read } from '@bay-booking/testkit/repository';
import { describe, expect, test } from '@jest/globals';

const maxLineLength = 120;
const scripts = findFiles('{apps,packages}/**/*.{ts,js}', '{tests,repository-tests,bench,examples}/**/*.{ts,js}');
const documents = findFiles('*.md', 'docs/**/*.md', '{apps,packages,bench,examples}/**/*.md');

test('the files are found', () => {
  expect(scripts.length).toBeGreaterThan(400);
  expect(documents.length).toBeGreaterThan(20);
});

test.each(['auth', 'bookings'])('at most eight files lie directly in the source folder of %s', (app) => {
  expect(findFiles(`apps/${app}/src/*.*`).length).toBeLessThanOrEqual(8);
});

test('no file is called index, utils or helpers', () => {
  expect(scripts.filter((file) => /\/(index|utils?|helpers?)\.[jt]s$/.test(file))).toEqual([]);
});

describe('the first comment of a file', () => {
  /** Returns the first sentence of the comment at the start of a file. The sentence may have several lines. */
  function firstSentence(text: string): string {
    const comment = /^(?:\/\/ .*\n)+/.exec(text)?.[0] ?? '';
    return /^[\s\S]*?[.:?!](?=\s)/.exec(comment.replaceAll(/\n?\/\/ /g, ' '))?.[0] ?? '';
  }

  const checkedFiles = scripts.filter((file) => !/(^|\/)jest\.config\.js$/.test(file));

  test('every file except jest.config.js starts with a sentence that is no question', () => {
    expect(checkedFiles.filter((file) => /^$|\?$/.test(firstSentence(read(file))))).toEqual([]);
  });
});

test('comments have at most 120 characters per line', () => {
  const longLines = scripts.flatMap((file) =>
    read(file)
      .split('\n')
      .filter((line) => line.length > maxLineLength && /^\s*(\/\/|\/?\*)/.test(line))
      .map((line) => `${file}: ${line}`),
  );
  expect(longLines).toEqual([]);
});

test('documents have at most 120 characters per line outside of tables and code', () => {
  const longLines = documents.flatMap((document) =>
    read(document)
      .replaceAll(/^ *```[\s\S]*?^ *```/gm, '')
      .split('\n')
      .filter((line) => line.length > maxLineLength && !line.startsWith('|'))
      .map((line) => `${document}: ${line}`),
  );
  expect(longLines).toEqual([]);
});

test('no file cites the contract, which readers of the repository do not have', () => {
  // Migrations are not checked: their files never change, and comments of the first migrations cite the contract.
  const files = [
    ...scripts,
    ...documents,
    ...findFiles('*.{json,yml,yaml}', 'infra/**/*.*', 'apps/*/src/**/*.{eta,css}'),
  ];
  // The pattern does not match "expand and contract", in which the word has another meaning.
  const citation = /\bcontract(,| section| \d|’s|'s)|\b(the|our|by|of) contract\b/i;
  const thisFile = 'repository-tests/source-files.test.ts';
  expect(files.filter((file) => file !== thisFile && citation.test(read(file)))).toEqual([]);
});
