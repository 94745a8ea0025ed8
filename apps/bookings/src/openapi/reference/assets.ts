// Reads the files that the API reference and the guide load, which are part of Swagger UI or of this folder.
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

export const javaScript = 'text/javascript; charset=utf-8';
export const css = 'text/css; charset=utf-8';

/** The path of a file contains the hash of its content, so the content of a path never changes. */
export const immutable = 'public, max-age=31536000, immutable';

export const assetTemplate = '/docs/assets/{hash}/{name}';

export function readAssets(): readonly Asset[] {
  // In a layer, our rules need not have the specificity of the rules that they replace.
  const swaggerUiStyles = `@layer swagger-ui {${readFileSync(join(swaggerUiFolder, 'swagger-ui.css'), 'utf8')}}`;
  return [
    createAsset('swagger-ui.css', css, swaggerUiStyles),
    readPageStyles(),
    createAsset('reference.css', css, readFileSync(join(thisFolder, 'reference.css'))),
    createAsset('swagger-ui-bundle.js', javaScript, readFileSync(join(swaggerUiFolder, 'swagger-ui-bundle.js'))),
    createAsset('reference.js', javaScript, readFileSync(join(thisFolder, 'reference.js'))),
    readIcon(),
  ];
}

const sharedIcon = fileURLToPath(import.meta.resolve('@bay-booking/service/http/page-icon.svg'));
const sharedStyles = fileURLToPath(import.meta.resolve('@bay-booking/service/http/page-styles.css'));

/** The day sheet has the same colours, header and icon. */
export const readPageStyles = (): Asset =>
  createAsset('page.css', css, Buffer.concat([readFileSync(sharedStyles), readFileSync(join(thisFolder, 'page.css'))]));
export const readIcon = (): Asset => createAsset('icon.svg', 'image/svg+xml', readFileSync(sharedIcon));

/** Below `folder`, the path has the hash of the content. */
export function createAsset(name: string, contentType: string, content: string | Buffer, folder = '/docs/assets') {
  const document = createPublicDocument(content, {
    'Content-Type': contentType,
    'Cache-Control': immutable,
  });
  return { ...document, path: `${folder}/${document.hash}/${name}` };
}
