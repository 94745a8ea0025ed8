// Keeps documents that anybody may read in memory and serves them, in gzip if the client accepts gzip: pages, style
// sheets, scripts and JSON.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { contentHash, isNotModified } from '@bay-booking/service/http/etag';
import type { Request, Response, Router } from 'express';
import { apiError } from '../errors.ts';
import { mountApiPath } from '../http/response.ts';

interface PublicDocument {
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

export interface Asset extends PublicDocument {
  /** Contains a hash of the content, so browsers can cache the file. */
  readonly path: string;
}

export const javaScript = 'text/javascript; charset=utf-8';
export const css = 'text/css; charset=utf-8';
const json = 'application/json; charset=utf-8';

/** The path of a file contains the hash of its content, so the content of a path never changes. */
export const immutable = 'public, max-age=31536000, immutable';

/** Below `folder`, the path has the hash of the content. */
export function createAsset(name: string, contentType: string, content: string | Buffer, folder = '/docs/assets') {
  const document = createPublicDocument(content, { 'Content-Type': contentType, 'Cache-Control': immutable });
  return { ...document, path: `${folder}/${document.hash}/${name}` };
}

/** Mounts a document whose JSON anybody may read. */
export function mountJson(router: Router, path: string, content: object): void {
  mountDocument(router, path, createPublicDocument(JSON.stringify(content), { 'Content-Type': json }));
}

/** Mounts files below `template`, which has the parameters of the paths of these files. */
export function mountAssets(router: Router, template: string, assets: readonly Asset[]) {
  const assetsByPath = new Map(assets.map((asset) => [asset.path, asset]));
  mountApiPath(router, template, {
    GET: (request, response) => {
      const asset = assetsByPath.get(request.path);
      if (!asset) throw apiError('ERR00404');
      return sendDocument(request, response, asset);
    },
  });
}

export function mountDocument(router: Router, path: string, document: PublicDocument): void {
  mountApiPath(router, path, { GET: (request, response) => sendDocument(request, response, document) });
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

const sharedIcon = fileURLToPath(import.meta.resolve('@bay-booking/service/http/page-icon.svg'));
const sharedStyles = fileURLToPath(import.meta.resolve('@bay-booking/service/http/page-styles.css'));
const ownStyles = join(import.meta.dirname, 'reference/page.css');

/** The day sheet has the same colours, header and icon as the documents. */
export const readPageStyles = (): Asset =>
  createAsset('page.css', css, Buffer.concat([readFileSync(sharedStyles), readFileSync(ownStyles)]));
export const readIcon = (): Asset => createAsset('icon.svg', 'image/svg+xml', readFileSync(sharedIcon));

/** The pages may use only this service and the authorization server. */
export function contentSecurityPolicy({
  baseUrl,
  authIssuer,
}: {
  readonly baseUrl: string;
  readonly authIssuer: string;
}): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    // The style sheet of Swagger UI contains its icons as data URLs.
    "img-src 'self' data:",
    `connect-src 'self' ${new URL(baseUrl).origin} ${new URL(authIssuer).origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
