// Parses the forms, links and texts of our own HTML pages. It is not a general HTML parser: it understands only the
// tags and attributes that our templates write.

export interface Form {
  readonly action: string;
  readonly method: string;
  readonly fields: readonly Field[];
  readonly buttons: readonly Button[];
}

interface Button {
  readonly name: string;
  readonly value: string;
  readonly text: string;
}

interface Field {
  readonly name: string;
  readonly value: string;
  readonly type: string;
  readonly checked: boolean;
}

export interface Link {
  readonly href: string;
  readonly text: string;
}

const decodeEntities = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

/** Returns the attributes of a tag, such as `name="value"` or `checked` without a value. */
function attributes(tag: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [, name, value] of tag.matchAll(/\s([a-zA-Z-]+)(?:="([^"]*)")?/g))
    found[(name as string).toLowerCase()] = decodeEntities(value ?? '');
  return found;
}

/** Returns the text of a piece of HTML, without tags and with single spaces. */
export const textOf = (html: string): string =>
  decodeEntities(html.replace(/<[^>]*>/g, ' '))
    .replace(/\s+/g, ' ')
    .trim();

/** Returns the forms of a page. A button outside of a form belongs to the form that its `form` attribute names. */
export function parseForms(html: string, url: URL): readonly Form[] {
  return [...html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)].map(([, tag, inner]) => {
    const { action = url.href, method = 'get', id } = attributes(` ${tag}`);
    const outside = id
      ? [...html.matchAll(/<button\b[^>]*>[\s\S]*?<\/button>/g)]
          .map(([text]) => text)
          .filter((text) => text.includes(`form="${id}"`))
      : [];
    const content = `${inner}${outside.join('')}`;
    return {
      action: new URL(action, url).href,
      method,
      fields: [...content.matchAll(/<input\b([^>]*)>/g)].map(([, input]) => {
        const { name = '', value = '', type = 'text', checked } = attributes(` ${input}`);
        return {
          name,
          value: type === 'checkbox' && value === '' ? 'on' : value,
          type,
          checked: checked !== undefined,
        };
      }),
      buttons: [...content.matchAll(/<button\b([^>]*)>([\s\S]*?)<\/button>/g)].map(([, button, text]) => {
        const { name = '', value = '' } = attributes(` ${button}`);
        return { name, value, text: textOf(text as string) };
      }),
    };
  });
}

/** Returns the links (`<a href>`) of a page. */
export const parseLinks = (html: string, url: URL): readonly Link[] =>
  [...html.matchAll(/<a\b([^>]*)>([\s\S]*?)<\/a>/g)].map(([, tag, text]) => ({
    href: new URL(attributes(` ${tag}`).href ?? '', url).href,
    text: textOf(text as string),
  }));
