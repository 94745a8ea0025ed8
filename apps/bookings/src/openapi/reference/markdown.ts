// Reads the documents of the guide and renders Markdown as HTML.
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { Marked } from 'marked';

const repository = join(import.meta.dirname, '../../../../..');

/** The documents for users of the API, by the path of their page. The images contain these files (infra/docker). */
export const guideFiles: Readonly<Record<string, string>> = {
  '/guide': 'docs/api.md',
  '/guide/client': 'packages/client/README.md',
  '/guide/behaviour': 'docs/behaviour.md',
  '/guide/behaviour-auth': 'docs/behaviour-auth.md',
  '/guide/sign-in': 'docs/sign-in.md',
  '/guide/sign-in-security': 'docs/sign-in-security.md',
  '/guide/social': 'docs/social.md',
  '/guide/portal': 'docs/portal.md',
  '/guide/glossary': 'docs/glossary.md',
};
const pagesByFile = new Map(Object.entries(guideFiles).map(([page, file]) => [file, page]));

interface Addresses {
  readonly baseUrl: string;
  readonly authIssuer: string;
  readonly scope: string;
}

/** Returns a document with the URLs of this service instead of the demo's. */
export function readDocument(file: string, { baseUrl, authIssuer, scope }: Addresses): string {
  return readFileSync(join(repository, file), 'utf8')
    .replaceAll('http://localhost:4001', baseUrl)
    .replaceAll('http://localhost:4000', authIssuer)
    .replaceAll('https://bay-booking.example/golf/bookings', scope);
}

export interface Heading {
  readonly id: string;
  readonly html: string;
  readonly depth: number;
}

/** Renders the Markdown of a file. `basePath` is the path of BASE_URL. */
export function renderMarkdown(text: string, file = '', basePath = '') {
  const headings: Heading[] = [];
  const markdown = new Marked({
    renderer: {
      heading({ tokens, text, depth }) {
        const html = this.parser.parseInline(tokens);
        const id = idOf(text, headings);
        headings.push({ id, html, depth });
        return `<h${depth} id="${id}">${html}</h${depth}>\n`;
      },
      // Names of files that the service does not serve become plain text.
      link({ href, tokens }) {
        const content = this.parser.parseInline(tokens);
        const target = /^(?:https?:|#)/.test(href) ? href : pageOf(href);
        return target === undefined ? content : `<a href="${target}">${content}</a>`;
      },
    },
  });
  const pageOf = (href: string): string | undefined => {
    const [path = '', id] = href.split('#');
    const page = pagesByFile.get(posix.join(posix.dirname(file), path));
    return page && basePath + page + (id ? `#${id}` : '');
  };
  return { html: markdown.parse(text, { async: false }), headings };
}

/** Returns the id that GitHub gives to a heading. */
function idOf(text: string, earlier: readonly Heading[]): string {
  const name = text
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .replaceAll(' ', '-');
  const ids = new Set(earlier.map(({ id }) => id));
  let id = name;
  for (let number = 1; ids.has(id); number++) id = `${name}-${number}`;
  return id;
}
