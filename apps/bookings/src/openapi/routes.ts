// What describes the API? GET /openapi.json, GET /docs and the resource metadata of RFC 9728; none needs a token.
import type { Endpoint } from '@bay-booking/common/endpoint';
import type { Express, Response } from 'express';
import type { Caller } from '../auth/caller.ts';
import { sendDocument } from '../http/response.ts';
import { mountPath } from '../http/router.ts';
import { createOpenApi } from './document.ts';
import { renderDocs } from './reference-page.ts';

export interface DocumentOptions {
  readonly endpoints: readonly Endpoint<Caller>[];
  readonly baseUrl: string;
  readonly authIssuer: string;
  readonly audience: string;
  readonly scope: string;
}

export function mountDocuments(app: Express, options: DocumentOptions): void {
  const { baseUrl, authIssuer, audience, scope } = options;
  const openApi = createOpenApi(options);
  serve('/openapi.json', 'application/json; charset=utf-8', JSON.stringify(openApi));
  serve(
    '/.well-known/oauth-protected-resource',
    'application/json; charset=utf-8',
    JSON.stringify({
      resource: audience,
      authorization_servers: [authIssuer],
      scopes_supported: [scope],
      bearer_methods_supported: ['header'],
      resource_name: 'Bookings API',
      resource_documentation: `${baseUrl}/docs`,
    }),
  );
  const docs = renderDocs(openApi, { server: baseUrl, tokenUrl: `${authIssuer}/connect/token`, scope });
  serve('/docs', 'text/html; charset=utf-8', docs.html, { 'Content-Security-Policy': docs.contentSecurityPolicy });

  function serve(path: string, type: string, text: string, headers: Record<string, string> = {}): void {
    const send = (_request: unknown, response: Response): void =>
      sendDocument(response, text, { 'Content-Type': type, ...headers });
    mountPath(
      app,
      path,
      new Map([
        ['GET', send],
        ['HEAD', send],
      ]),
    );
  }
}
