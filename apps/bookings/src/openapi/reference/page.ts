// Renders the API reference and the guide. With JavaScript, Swagger UI replaces the content of the reference.
import { Eta } from 'eta';
import type { Asset } from './assets.ts';
import { readGuide, renderMarkdown } from './markdown.ts';

interface Document {
  readonly info: { readonly title: string; readonly summary: string; readonly description: string };
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly tags: readonly string[]; readonly summary: string }>>>
  >;
}

export interface PageOptions {
  readonly baseUrl: string;
  readonly authIssuer: string;
  readonly scope: string;
  readonly assets: readonly Asset[];
}

const eta = new Eta({ views: import.meta.dirname });

export function renderReference(openApi: object, options: PageOptions): string {
  const { info, tags, paths } = openApi as Document;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
  );
  const layout = layoutOf(options);
  return eta.render('reference', {
    ...layout,
    ...info,
    page: 'reference',
    description: renderMarkdown(info.description),
    // The browser loads the document from the host of the page, which may not be the public address.
    documentPath: `${layout.basePath}/openapi.json`,
    documentUrl: `${options.baseUrl}/openapi.json`,
    scope: options.scope,
    tags: tags.map(({ name }) => ({ name, operations: operations.filter((operation) => operation.tags[0] === name) })),
  });
}

export function renderGuide(options: PageOptions): string {
  const { styles, ...layout } = layoutOf(options);
  const isOfGuide = (path: string) => path.endsWith('/page.css');
  const guide = renderMarkdown(readGuide(options));
  return eta.render('guide', {
    ...layout,
    page: 'guide',
    title: 'Guide',
    styles: styles.filter(isOfGuide),
    scripts: [],
    guide,
  });
}

function layoutOf({ baseUrl, authIssuer, assets }: PageOptions) {
  const basePath = new URL(baseUrl).pathname.replace(/\/+$/, '');
  const pathsOf = (extension: string) =>
    assets.filter(({ path }) => path.endsWith(extension)).map(({ path }) => `${basePath}${path}`);
  return {
    basePath,
    portalUrl: `${authIssuer}/portal`,
    icon: pathsOf('.svg')[0],
    styles: pathsOf('.css'),
    scripts: pathsOf('.js'),
  };
}

/** The pages may use only this service and the authorization server. */
export function contentSecurityPolicy({ baseUrl, authIssuer }: Pick<PageOptions, 'baseUrl' | 'authIssuer'>): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    // The style sheet of Swagger UI contains its icons as data URLs.
    "img-src 'self' data:",
    `connect-src 'self' ${new URL(baseUrl).origin} ${new URL(authIssuer).origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
