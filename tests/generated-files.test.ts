// Compares the diagrams in docs/database.md with the schema that the migrations create.
import { readFileSync } from 'node:fs';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { databasePage, drawSchemaOf, replaceDiagram } from './support/database-diagram.ts';
import { expectUpToDate } from './support/generated-file.ts';

let server: EmbeddedPostgres;
beforeAll(async () => {
  server = await startEmbeddedPostgres({ fsync: false });
}, 60_000);
afterAll(() => server?.stop());

test.each(['auth', 'bookings'] as const)(
  'the diagram of %s in docs/database.md shows the schema that the migrations create',
  async (app) => {
    const page = readFileSync(databasePage, 'utf8');
    const generated = replaceDiagram(page, app, await drawSchemaOf(app, server.url));
    expect(generated).toContain('erDiagram');
    expectUpToDate('docs/database.md', page, generated);
  },
);
