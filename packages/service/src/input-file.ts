// What is in the file that a command was given? Text in UTF-8, with or without the byte order mark that editors on Windows put before
// it; `-` is standard input. Bytes that are no UTF-8 would silently become other letters.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';

/** A relative path is one from `directory`, where the command was typed. @throws {Error} when it is no UTF-8 */
export async function readInputFile(file: string, directory: string): Promise<string> {
  const bytes = file === '-' ? await buffer(process.stdin) : await readFile(resolve(directory, file));
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${file === '-' ? 'standard input' : file} is not in UTF-8; nothing was imported`);
  }
}
