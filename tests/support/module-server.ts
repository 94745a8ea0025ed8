// Serves an empty page with an import map, so that scripts of the page can import installed packages by their names.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, normalize } from 'node:path';

/**
 * Serves the files in `folder`, where the packages are installed.
 * @param imports the URL path of the main module of each package, by the name of the package
 */
export async function startModuleServer(folder: string, imports: Record<string, string>) {
  const page = `<script type="importmap">${JSON.stringify({ imports })}</script>`;
  const server = createServer(async ({ url = '/' }, response) => {
    if (url === '/') return void response.writeHead(200, { 'Content-Type': 'text/html' }).end(page);
    const text = await readFile(join(folder, normalize(url)), 'utf8').catch(() => undefined);
    response.writeHead(text === undefined ? 404 : 200, { 'Content-Type': 'text/javascript' }).end(text);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
