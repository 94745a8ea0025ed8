// Deletes the data that global-setup.ts has created.
import { rm } from 'node:fs/promises';

export default async function removeDataTemplate(): Promise<void> {
  await rm(process.env.TEST_DATA_TEMPLATE as string, { recursive: true, force: true });
}
