// Writes the diagrams of docs/database.md. `npm run generate -w tests` runs this command.
import { readFileSync, writeFileSync } from 'node:fs';
import { startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { databasePage, drawSchemaOf, replaceDiagram } from './database-diagram.ts';

const server = await startEmbeddedPostgres({ fsync: false });
try {
  for (const app of ['auth', 'bookings'] as const) {
    const diagram = await drawSchemaOf(app, server.url);
    writeFileSync(databasePage, replaceDiagram(readFileSync(databasePage, 'utf8'), app, diagram));
  }
} finally {
  await server.stop();
}
