// What if an address is no valid percent-encoding? Express would refuse it before any path is found. Taken as it stands it names something
// at its path too, though nothing that is there: 404 as for any other id, after the token was asked for.
import type { Express } from 'express';

export function mountLiteralAddresses(app: Express): void {
  app.use((request, _response, next) => {
    const { url } = request;
    if (url.includes('%')) {
      const [path = ''] = url.split('?', 1);
      if (!isEncoded(path)) request.url = path.replaceAll('%', '%25') + url.slice(path.length);
    }
    next();
  });
}

function isEncoded(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
