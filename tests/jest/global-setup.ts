// Creates the databases of both services once for a jest run. Each test server starts with a copy of these data.
import { dirname } from 'node:path';
import { startDatabaseServer } from '../support/database-server.ts';

export default async function createDataTemplate(): Promise<void> {
  const server = await startDatabaseServer();
  await server.stop();
  // Jest starts its worker processes after this function, so they inherit the variable.
  process.env.TEST_DATA_TEMPLATE = dirname(server.dataPath);
}
