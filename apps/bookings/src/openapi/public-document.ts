// Keeps a public document in memory, with its entity tag and a compressed copy.
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

export interface PublicDocument {
  readonly content: Buffer;
  /** A short hash of the content, which can be part of a URL. */
  readonly hash: string;
  /** Headers that the response has in addition to the default headers of documents, or instead of them. */
  readonly headers: Readonly<Record<string, string>>;
  /** Returns the content in gzip. The content is compressed at the first call, and later calls share the result. */
  readonly compressed: () => Promise<Buffer>;
}

const compress = promisify(gzip);
/** In base64url, 22 characters contain 132 bits. */
const hashLength = 22;

export function createPublicDocument(
  source: string | Buffer,
  headers: Readonly<Record<string, string>>,
): PublicDocument {
  const content = Buffer.from(source);
  let compressedContent: Promise<Buffer> | undefined;
  return {
    content,
    hash: createHash('sha256').update(content).digest('base64url').slice(0, hashLength),
    headers,
    compressed: () => {
      compressedContent ??= compress(content);
      return compressedContent;
    },
  };
}
