// Serves style sheets, scripts and icons. Each path contains a hash of the content, so browsers may cache it for a
// year.
import { createHash } from 'node:crypto';
import { Router } from 'express';

const yearSeconds = 365 * 24 * 3600;

export interface Asset {
  readonly path: string;
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
