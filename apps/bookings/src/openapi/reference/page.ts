// Renders the page of the API reference. In browsers with JavaScript, Swagger UI replaces its list of endpoints.
import { Eta } from 'eta';
import type { Asset } from './assets.ts';

interface Document {
  readonly info: { readonly title: string; readonly summary: string };
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly tags: readonly string[]; readonly summary: string }>>>
  >;
}

export interface PageOptions {
  readonly baseUrl: string;
  readonly tokenUrl: string;
  readonly scope: string;
  readonly assets: readonly Asset[];
}

export function renderPage(openApi: object, { baseUrl, tokenUrl, scope, assets }: PageOptions): string {
  const { info, tags, paths } = openApi as Document;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
  );
  const basePath = new URL(baseUrl).pathname.replace(/\/+$/, '');
  const pathsOf = (extension: string) =>
    assets.filter(({ path }) => path.endsWith(extension)).map(({ path }) => `${basePath}${path}`);
  return new Eta({ views: import.meta.dirname }).render('page', {
    ...info,
    // The browser loads the document from the host of the page, which may not be the public address.
    documentPath: `${basePath}/openapi.json`,
    documentUrl: `${baseUrl}/openapi.json`,
    tokenUrl,
    scope,
    styles: pathsOf('.css'),
    scripts: pathsOf('.js'),
    tags: tags.map(({ name }) => ({ name, operations: operations.filter((operation) => operation.tags[0] === name) })),
  });
}

/** The page may use only this service and the authorization server. */
export function contentSecurityPolicy({ baseUrl, tokenUrl }: Pick<PageOptions, 'baseUrl' | 'tokenUrl'>): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    // The style sheet of Swagger UI contains its icons as data URLs.
    'img-src data:',
    `connect-src 'self' ${new URL(baseUrl).origin} ${new URL(tokenUrl).origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
