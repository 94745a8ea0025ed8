// Treats a path that is not valid percent-encoding as literal text.
//
// Express rejects such a path before it looks for a route. As literal text, the path reaches its route and names a
// resource that does not exist. The response is then 404, as for any other unknown id, or 401 without a valid token.
import type { Express } from 'express';

export function mountUndecodablePaths(app: Express): void {
  app.use((request, _response, next) => {
    const { url } = request;
    if (url.includes('%')) {
      const [path = ''] = url.split('?', 1);
      if (!isDecodable(path)) request.url = path.replaceAll('%', '%25') + url.slice(path.length);
    }
    next();
  });
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
