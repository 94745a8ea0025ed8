// Stops the server that jest.global-setup.ts started, if it did.
import { serverOfThisRun } from './server-of-this-run.ts';

export default async function stopServer(): Promise<void> {
  await serverOfThisRun.get()?.stop();
}
