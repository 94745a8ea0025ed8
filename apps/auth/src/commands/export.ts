// Implements `npm run export -w apps/auth -- [--credentials=hashed] [FILE]`: writes an import file of everything to
// FILE, or to standard output.
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { mandatory, postgresUrl, readConfig } from '@bay-booking/service/config';
import { databaseCheck } from '@bay-booking/service/http/readiness';
import { runCommand } from '@bay-booking/service/lifecycle';
import { storeEvents } from '../audit/audit.ts';
import { credentialsExported, exportDocument } from '../import/export.ts';
import { migrationsDirectory } from '../migrations-directory.ts';
import { withDatabase } from './with-database.ts';

const withHashesOption = '--credentials=hashed';

runCommand(async () => {
  const options = process.argv.slice(2).filter((argument) => argument.startsWith('-'));
  const [file, ...rest] = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
  if (rest.length > 0 || options.some((option) => option !== withHashesOption)) {
    throw new Error(`usage: npm run export -w apps/auth -- [${withHashesOption}] [FILE]`);
  }
  const { url } = readConfig(process.env, { url: mandatory('DATABASE_URL', postgresUrl) });
  await withDatabase({ url, applicationName: 'auth export' }, async (db) => {
    await databaseCheck(db, migrationsDirectory)();
    const withHashes = options.length > 0;
    if (withHashes) await storeEvents(db, [{ ...credentialsExported, detail: { operator: 'export' } }]);
    const document = await exportDocument(db, { withHashes });
    const text = `${JSON.stringify(document, null, 2)}\n`;
    // npm runs this command in apps/auth, but a relative path refers to the directory in which the user started npm.
    if (file === undefined) process.stdout.write(text);
    else await writeFile(resolve(process.env.INIT_CWD ?? process.cwd(), file), text, { mode: 0o600 });
  });
});
