// Reads the scripts and style sheets of the API reference, which are part of Swagger UI or of this folder.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createPublicDocument, type PublicDocument } from '../public-document.ts';

export interface Asset extends PublicDocument {
  /** Contains a hash of the content, so browsers can cache the file. */
  readonly path: string;
}

const swaggerUiFolder = dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/package.json')));
const thisFolder = import.meta.dirname;

const javaScript = 'text/javascript; charset=utf-8';
const css = 'text/css; charset=utf-8';

export const assetTemplate = '/docs/assets/{hash}/{name}';

export function readAssets(): readonly Asset[] {
  return [
    readAsset(swaggerUiFolder, 'swagger-ui.css', css),
    readAsset(thisFolder, 'reference.css', css),
    readAsset(swaggerUiFolder, 'swagger-ui-bundle.js', javaScript),
    readAsset(thisFolder, 'reference.js', javaScript),
  ];
}

function readAsset(folder: string, name: string, contentType: string): Asset {
  const document = createPublicDocument(readFileSync(join(folder, name)), {
    'Content-Type': contentType,
    'Cache-Control': 'public, max-age=31536000, immutable',
  });
  return { ...document, path: `/docs/assets/${document.hash}/${name}` };
}
