// Reads a file whose name is an argument of a command.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';

/**
 * Reads a text in UTF-8, with or without a byte order mark. If `file` is `-`, reads standard input. A relative path is
 * resolved against `directory`, in which the user ran the command.
 * @throws {Error} if the file cannot be read or is not in UTF-8
 */
export async function readInputFile(file: string, directory: string): Promise<string> {
  const bytes = file === '-' ? await buffer(process.stdin) : await readFile(resolve(directory, file));
  try {
    // Without `fatal`, the decoder would replace invalid bytes by other characters instead of throwing an error. By
    // default, the decoder removes a byte order mark.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${file === '-' ? 'standard input' : file} is not in UTF-8; nothing was imported`);
  }
}
