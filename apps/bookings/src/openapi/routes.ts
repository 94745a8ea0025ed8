// Serves the documents about the API without a token: the OpenAPI document, the reference page and the resource
// metadata (RFC 9728).
import type { Endpoint } from '@bay-booking/common/endpoint';
import { dpopAlgorithms } from '@bay-booking/service/http/dpop-proof';
import type { Express, Response } from 'express';
import type { Caller } from '../auth/caller.ts';
import { sendDocument } from '../http/response.ts';
import { mountPath } from '../http/router.ts';
import { createOpenApi } from './document.ts';
import { renderReferencePage } from './reference-page.ts';

export interface DocumentOptions {
  readonly endpoints: readonly Endpoint<Caller>[];
  readonly baseUrl: string;
  readonly authIssuer: string;
  readonly audience: string;
  readonly scope: string;
}

const json = { 'Content-Type': 'application/json; charset=utf-8' };

export function mountDocuments(app: Express, options: DocumentOptions): void {
  const { baseUrl, authIssuer, audience, scope } = options;
  const openApi = createOpenApi(options);
  mountDocument(app, '/openapi.json', JSON.stringify(openApi), json);

  const resourceMetadata = {
    resource: audience,
    authorization_servers: [authIssuer],
    scopes_supported: [scope],
    bearer_methods_supported: ['header'],
    dpop_signing_alg_values_supported: dpopAlgorithms,
    resource_name: 'Bookings API',
    resource_documentation: `${baseUrl}/docs`,
  };
  mountDocument(app, '/.well-known/oauth-protected-resource', JSON.stringify(resourceMetadata), json);

  const page = renderReferencePage(openApi, { server: baseUrl, tokenUrl: `${authIssuer}/connect/token`, scope });
  mountDocument(app, '/docs', page.html, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': page.contentSecurityPolicy,
  });
}

function mountDocument(app: Express, path: string, text: string, headers: Readonly<Record<string, string>>): void {
  const handler = (_request: unknown, response: Response): void => sendDocument(response, text, headers);
  mountPath(
    app,
    path,
    new Map([
      ['GET', handler],
      ['HEAD', handler],
    ]),
  );
}
