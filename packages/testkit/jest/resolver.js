// Lets all tests use the module of packages/service that talks to PostgreSQL from outside of jest (load-once.ts). It
// names prepared statements, and a second copy would give the same names to other statements of a connection.
import { fileURLToPath } from 'node:url';

const here = (file) => fileURLToPath(new URL(file, import.meta.url));
const database = here('../../service/src/database/database.ts');
const sharedDatabase = here('./shared-database.ts');

export const sync = (path, options) => {
  const file = options.defaultResolver(path, options);
  return file === database ? sharedDatabase : file;
};
