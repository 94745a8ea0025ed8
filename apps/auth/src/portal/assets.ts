// The portal's own style sheet and script, under addresses that change with their content. The script copies and tells the viewer's time;
// every page works without it.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Router } from 'express';

function readAsset(name: string, type: string) {
  const content = readFileSync(new URL(`./browser/${name}`, import.meta.url));
  const digest = createHash('sha256').update(content).digest('base64url').slice(0, 12);
  return { path: `/assets/${digest}/${name}`, type, content };
}

export const portalAssets = {
  styles: readAsset('portal.css', 'text/css; charset=utf-8'),
  script: readAsset('portal.js', 'text/javascript; charset=utf-8'),
};

export function portalAssetRoutes(): Router {
  const router = Router();
  for (const { path, type, content } of Object.values(portalAssets)) {
    router.get(path, (_request, response) => {
      response.set({ 'Content-Type': type, 'Cache-Control': 'public, max-age=31536000, immutable' }).send(content);
    });
  }
  return router;
}
