// Reads a file whose name is an argument of a command.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';

/** `-` is standard input. A relative path is resolved against `directory`, in which the user ran the command. */
export async function readInputFile(file: string, directory: string): Promise<string> {
  const bytes = file === '-' ? await buffer(process.stdin) : await readFile(resolve(directory, file));
  try {
    // Without `fatal`, the decoder would replace invalid bytes.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${file === '-' ? 'standard input' : file} is not in UTF-8; nothing was imported`);
  }
}
