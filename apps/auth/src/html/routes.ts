// The style sheet and the icon, under addresses that change with their content, so that browsers may keep them.
import { Router } from 'express';
import { assets } from './render.ts';

export function assetRoutes(): Router {
  const router = Router();
  for (const { path, type, content } of Object.values(assets)) {
    router.get(path, (_request, response) => {
      response.set({ 'Content-Type': type, 'Cache-Control': 'public, max-age=31536000, immutable' }).send(content);
    });
  }
  return router;
}
