// Stops the server that global-setup.ts started, if it did.
import { serverOfThisRun } from './shared-server.ts';

export default async function stopServer(): Promise<void> {
  await serverOfThisRun.get()?.stop();
}
