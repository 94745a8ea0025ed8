// Serves style sheets, scripts and icons. The path of a file contains a hash of its content. A changed file therefore
// gets another path, so browsers may cache each path for a year.
import { createHash } from 'node:crypto';
import { Router } from 'express';

const yearSeconds = 365 * 24 * 3600;

export interface Asset {
  readonly path: string;
  /** The value of the header `Content-Type`. */
  readonly type: string;
  readonly content: Buffer;
}

export function createAsset(name: string, type: string, content: Buffer): Asset {
  const hash = createHash('sha256').update(content).digest('base64url').slice(0, 12);
  return { path: `/assets/${hash}/${name}`, type, content };
}

export function assetRoutes(assets: Readonly<Record<string, Asset>>): Router {
  const router = Router();
  for (const { path, type, content } of Object.values(assets)) {
    router.get(path, (_request, response) => {
      response
        .set({ 'Content-Type': type, 'Cache-Control': `public, max-age=${yearSeconds}, immutable` })
        .send(content);
    });
  }
  return router;
}
