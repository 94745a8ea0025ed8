// Reads the file that the user has given as an argument of a command.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';

/**
 * Reads a file in UTF-8 with or without a byte order mark. `-` stands for standard input. A relative path is resolved
 * against `directory`, in which the user ran the command.
 * @throws {Error} if the file cannot be read, or is not in UTF-8. Otherwise, invalid bytes would be replaced by other
 * characters without a message.
 */
export async function readInputFile(file: string, directory: string): Promise<string> {
  const bytes = file === '-' ? await buffer(process.stdin) : await readFile(resolve(directory, file));
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${file === '-' ? 'standard input' : file} is not in UTF-8; nothing was imported`);
  }
}
