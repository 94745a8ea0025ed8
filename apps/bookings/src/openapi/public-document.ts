// Keeps a public document in memory and sends it, in gzip if the client accepts gzip.
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { contentHash, isNotModified } from '@bay-booking/service/http/etag';
import type { Request, Response } from 'express';

export interface PublicDocument {
  readonly content: Buffer;
  readonly hash: string;
  /** In addition to the default headers of documents, or instead of them. */
  readonly headers: Readonly<Record<string, string>>;
  /** Compresses at the first call. */
  readonly compressed: () => Promise<Buffer>;
}

const compress = promisify(gzip);

export function createPublicDocument(source: string | Buffer, headers: Readonly<Record<string, string>>) {
  const content = Buffer.from(source);
  let compressedContent: Promise<Buffer> | undefined;
  return {
    content,
    hash: contentHash(content),
    headers,
    compressed: () => {
      compressedContent ??= compress(content);
      return compressedContent;
    },
  };
}

export async function sendDocument(request: Request, response: Response, document: PublicDocument): Promise<void> {
  const etag = `"${document.hash}"`;
  response.set({
    'Cache-Control': 'public, max-age=300',
    // The entity tag is weak, because the compressed and the plain content share it.
    ETag: `W/${etag}`,
    Vary: 'Accept-Encoding',
    ...document.headers,
  });
  if (isNotModified(request.get('if-none-match'), etag)) {
    response.status(304).end();
  } else if (request.acceptsEncodings('gzip') === 'gzip') {
    response.set('Content-Encoding', 'gzip').send(await document.compressed());
  } else response.send(document.content);
}
