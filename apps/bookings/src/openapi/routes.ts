// Serves the OpenAPI document, the API reference, the guide and the resource metadata (RFC 9728), without a token.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Endpoint } from '@bay-booking/common/endpoint';
import type { Scopes } from '@bay-booking/common/scopes';
import { dpopAlgorithms } from '@bay-booking/service/http/dpop-proof';
import type { Express } from 'express';
import type { Caller } from '../auth/caller.ts';
import { resourceMetadataPath } from '../auth/challenges.ts';
import { mountApiPath } from '../http/response.ts';
import { createOpenApi } from './document.ts';
import {
  type Asset,
  contentSecurityPolicy,
  createAsset,
  createPublicDocument,
  css,
  javaScript,
  mountAssets,
  mountDocument,
  mountJson,
  readIcon,
  readPageStyles,
} from './public-document.ts';
import { renderGuides, renderReference } from './reference/page.ts';

export interface ServedDocuments {
  readonly endpoints: readonly Endpoint<Caller>[];
  readonly baseUrl: string;
  readonly authIssuer: string;
  readonly audience: string;
  readonly scopes: Scopes;
  readonly hasDaySheet: boolean;
}

export function mountDocuments(app: Express, options: ServedDocuments): void {
  const { baseUrl, authIssuer, audience, scopes, hasDaySheet } = options;
  const openApi = createOpenApi(options);
  mountJson(app, '/openapi.json', openApi);

  const resourceMetadata = {
    resource: audience,
    authorization_servers: [authIssuer],
    scopes_supported: Object.values(scopes),
    bearer_methods_supported: ['header'],
    dpop_signing_alg_values_supported: dpopAlgorithms,
    resource_name: 'Bookings API',
    resource_documentation: `${baseUrl}/docs`,
  };
  mountJson(app, resourceMetadataPath, resourceMetadata);

  const assets = readAssets();
  mountAssets(app, '/docs/assets/{hash}/{name}', assets);

  const pageOptions = { baseUrl, authIssuer, scope: scopes.write, hasDaySheet, assets };
  const pageHeaders = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': contentSecurityPolicy(pageOptions),
  };
  mountDocument(app, '/docs', createPublicDocument(renderReference(openApi, pageOptions), pageHeaders));
  for (const [path, page] of renderGuides(pageOptions))
    mountDocument(app, path, createPublicDocument(page, pageHeaders));
  const { pathname } = new URL(`${baseUrl}/docs`);
  mountApiPath(app, '/', { GET: (_request, response) => response.redirect(pathname) });
}

const swaggerUiFolder = dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/package.json')));
const referenceFolder = join(import.meta.dirname, 'reference');

function readAssets(): readonly Asset[] {
  // In a layer, our rules need not have the specificity of the rules that they replace.
  const swaggerUiStyles = `@layer swagger-ui {${readFileSync(join(swaggerUiFolder, 'swagger-ui.css'), 'utf8')}}`;
  return [
    createAsset('swagger-ui.css', css, swaggerUiStyles),
    readPageStyles(),
    createAsset('reference.css', css, readFileSync(join(referenceFolder, 'reference.css'))),
    createAsset('swagger-ui-bundle.js', javaScript, readFileSync(join(swaggerUiFolder, 'swagger-ui-bundle.js'))),
    createAsset('reference.js', javaScript, readFileSync(join(referenceFolder, 'reference.js'))),
    readIcon(),
  ];
}
