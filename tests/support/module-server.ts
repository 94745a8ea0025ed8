// Serves an empty page with an import map, so that scripts of the page can import installed packages by their names.
import { readFile } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import { serveHttp } from '@bay-booking/testkit/http-server';

/**
 * Serves the files in `folder`, where the packages are installed.
 * @param imports the URL path of the main module of each package, by the name of the package
 */
export async function startModuleServer(folder: string, imports: Record<string, string>) {
  const page = `<script type="importmap">${JSON.stringify({ imports })}</script>`;
  return serveHttp(async ({ url = '/' }, response) => {
    if (url === '/') return void response.writeHead(200, { 'Content-Type': 'text/html' }).end(page);
    const text = await readFile(join(folder, normalize(url)), 'utf8').catch(() => undefined);
    response.writeHead(text === undefined ? 404 : 200, { 'Content-Type': 'text/javascript' }).end(text);
  });
}
