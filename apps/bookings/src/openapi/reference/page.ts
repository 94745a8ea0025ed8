// Renders the API reference and the guide. If the browser runs JavaScript, Swagger UI replaces the reference.
import { Eta } from 'eta';
import { basePathOf } from '../../http/request-path.ts';
import type { Asset } from '../public-document.ts';
import { guideFiles, type Heading, readDocument, renderMarkdown } from './markdown.ts';

interface Document {
  readonly info: { readonly title: string; readonly summary: string; readonly description: string };
}

export interface PageOptions {
  readonly baseUrl: string;
  readonly authIssuer: string;
  readonly scope: string;
  /** Whether the service has a day sheet, which the pages then link to. */
  readonly hasDaySheet: boolean;
  readonly assets: readonly Asset[];
}

const eta = new Eta({ views: import.meta.dirname });

export function renderReference(openApi: object, options: PageOptions): string {
  const { info } = openApi as Document;
  const layout = layoutOf(options);
  return eta.render('reference', {
    ...layout,
    ...info,
    page: 'reference',
    contents: [],
    description: renderMarkdown(info.description).html,
    // The browser loads the document from the host of the page, which may differ from BASE_URL.
    documentPath: `${layout.basePath}/openapi.json`,
    documentUrl: `${options.baseUrl}/openapi.json`,
    scope: options.scope,
  });
}

/** Returns the pages of the guide by their paths. */
export function renderGuides(options: PageOptions): ReadonlyMap<string, string> {
  const { styles, basePath, ...layout } = layoutOf(options);
  const isOfGuide = (path: string) => path.endsWith('/page.css');
  const pages = Object.entries(guideFiles).map(([path, file]) => {
    const { html, headings } = renderMarkdown(readDocument(file, options), file, basePath);
    return { path, html, headings, title: headings[0]?.html ?? '' };
  });
  const links = pages.map(({ path, title }) => ({ href: basePath + path, html: title, path }));
  return new Map(
    pages.map(({ path, html, headings, title }) => {
      const contents = [
        { name: 'On this page', links: headings.filter(({ depth }) => depth === 2).map(linkTo) },
        { name: 'Guide', links: links.filter((link) => link.path !== path) },
      ];
      const page = { ...layout, basePath, page: 'guide', title, styles: styles.filter(isOfGuide), scripts: [] };
      return [path, eta.render('guide', { ...page, contents, guide: html })];
    }),
  );
}

const linkTo = ({ id, html }: Heading) => ({ href: `#${id}`, html });

function layoutOf({ baseUrl, authIssuer, hasDaySheet, assets }: PageOptions) {
  const basePath = basePathOf(baseUrl);
  const pathsOf = (extension: string) =>
    assets.filter(({ path }) => path.endsWith(extension)).map(({ path }) => `${basePath}${path}`);
  return {
    basePath,
    hasDaySheet,
    portalUrl: `${authIssuer}/portal`,
    icon: pathsOf('.svg')[0],
    styles: pathsOf('.css'),
    scripts: pathsOf('.js'),
  };
}
