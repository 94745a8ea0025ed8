// Stops the PostgreSQL server that global-setup.ts started, if any.
import { serverOfThisRun } from './shared-server.ts';

export default async function stopServer(): Promise<void> {
  await serverOfThisRun.get()?.stop();
}
