// Style sheets, scripts and icons, under addresses that change with their content, so that browsers may keep them.
import { createHash } from 'node:crypto';
import { Router } from 'express';

export interface Asset {
  readonly path: string;
  readonly type: string;
  readonly content: Buffer;
}

export function asset(name: string, type: string, content: Buffer): Asset {
  const digest = createHash('sha256').update(content).digest('base64url').slice(0, 12);
  return { path: `/assets/${digest}/${name}`, type, content };
}

export function assetRoutes(assets: Readonly<Record<string, Asset>>): Router {
  const router = Router();
  for (const { path, type, content } of Object.values(assets)) {
    router.get(path, (_request, response) => {
      response.set({ 'Content-Type': type, 'Cache-Control': 'public, max-age=31536000, immutable' }).send(content);
    });
  }
  return router;
}
