// Reads a file that a command's argument names.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';

/** `-` is standard input. A relative path is relative to `directory`, where the user ran the command. */
export async function readInputFile(file: string, directory: string): Promise<string> {
  const bytes = file === '-' ? await buffer(process.stdin) : await readFile(resolve(directory, file));
  try {
    // `fatal` rejects invalid bytes instead of replacing them.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${file === '-' ? 'standard input' : file} is not in UTF-8; nothing was imported`);
  }
}
