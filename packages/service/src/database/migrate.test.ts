// Tests splitting an SQL file into its statements.
import { expect, test } from '@jest/globals';
import { splitStatements } from './migrate.ts';

test('every statement of a file is returned with the comments before it', () => {
  expect(splitStatements('-- First.\nselect 1;\n\nselect 2; -- Last.\n')).toEqual([
    '-- First.\nselect 1',
    '\n\nselect 2',
  ]);
});

test.each([
  ["insert into t values ('a;b', 'it''s;')"],
  ['select ";" from t'],
  ['do $$ begin perform 1; perform 2; end $$'],
  ['create function f() returns int as $body$ select $$;$$; $body$ language sql'],
  ['select 1 -- Not the end;\n from t'],
  ['select /* not; the end; */ 1'],
])('the semicolons inside of %s do not end it', (sql) => {
  expect(splitStatements(`${sql};\nselect 2;`)).toEqual([sql, '\nselect 2']);
});

test('a file without a statement returns none', () => {
  expect(splitStatements('-- Only a comment; nothing else.\n;\n')).toEqual([]);
});
