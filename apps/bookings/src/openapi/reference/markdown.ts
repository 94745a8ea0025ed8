// Reads docs/api.md, and renders Markdown as HTML.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Marked } from 'marked';

const guideFile = join(import.meta.dirname, '../../../../../docs/api.md');

interface Addresses {
  readonly baseUrl: string;
  readonly authIssuer: string;
  readonly scope: string;
}

/** Returns docs/api.md with the addresses of this service instead of those of the demo. */
export function readGuide({ baseUrl, authIssuer, scope }: Addresses): string {
  return readFileSync(guideFile, 'utf8')
    .replaceAll('http://localhost:4001', baseUrl)
    .replaceAll('http://localhost:4000', authIssuer)
    .replaceAll('https://bay-booking.example/golf/bookings', scope);
}

const markdown = new Marked({
  renderer: {
    heading({ tokens, text, depth }) {
      return `<h${depth} id="${idOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    // The service does not serve the other documents of the repository, so their names stay as text.
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      return /^(?:https?:|#)/.test(href) ? `<a href="${href}">${text}</a>` : text;
    },
  },
});

export const renderMarkdown = (text: string): string => markdown.parse(text, { async: false });

/** Returns the id that GitHub gives to a heading. */
function idOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .replaceAll(' ', '-');
}
