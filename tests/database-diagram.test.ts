// Compares the diagrams in docs/database.md with the schema that the migrations create.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { migrate } from '@bay-booking/service/database/migrate';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { drawDatabase } from './support/database-diagram.ts';
import { queryOnce } from './support/services.ts';

const root = join(import.meta.dirname, '..');
const page = join(root, 'docs/database.md');

const diagramOf = (app: string): RegExp => new RegExp(`(<!-- ${app} -->\\n\`\`\`mermaid\\n)([\\s\\S]*?)(\\n\`\`\`)`);

let server: EmbeddedPostgres;
beforeAll(async () => {
  server = await startEmbeddedPostgres({ fsync: false });
}, 60_000);
afterAll(() => server?.stop());

test.each(['auth', 'bookings'])('the diagram of %s shows the schema that the migrations create', async (app) => {
  await queryOnce(server.url, `create database ${app}`);
  const url = Object.assign(new URL(server.url), { pathname: app }).href;
  await migrate({ url, directory: join(root, 'apps', app, 'migrations') });
  const drawn = await drawDatabase(url);
  if (process.env.GENERATE) {
    writeFileSync(page, readFileSync(page, 'utf8').replace(diagramOf(app), `$1${drawn}$3`));
  }
  // If this fails after a new migration: npm run generate
  expect(diagramOf(app).exec(readFileSync(page, 'utf8'))?.[2]).toBe(drawn);
});
