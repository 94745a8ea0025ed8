// Parses the forms, links and texts of our own HTML pages. The functions are not a general HTML parser: they understand
// only the tags and attributes that our templates write.

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
  readonly isChecked: boolean;
}

export interface Link {
  readonly href: string;
  readonly text: string;
}

/** Decodes `&amp;` last, so that `&amp;lt;` becomes the text `&lt;`. */
export const decodeEntities = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

/**
 * Returns the attributes in the text after the name of a tag: `name="value"`, or a name without a value such as
 * `checked`.
 */
function attributesOf(tag: string): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const [, name, value] of tag.matchAll(/\s([a-zA-Z-]+)(?:="([^"]*)")?/g))
    attributes[(name as string).toLowerCase()] = decodeEntities(value ?? '');
  return attributes;
}

/** Returns the text of a piece of HTML, without tags and with single spaces. */
export const textOf = (html: string): string =>
  decodeEntities(html.replace(/<[^>]*>/g, ' '))
    .replace(/\s+/g, ' ')
    .trim();

const fieldsIn = (html: string): Field[] =>
  [...html.matchAll(/<input\b([^>]*)>/g)].map(([, input]) => {
    const { name = '', value = '', type = 'text', checked } = attributesOf(input as string);
    // Browsers submit the value `on` for a checkbox without a value.
    const submitted = type === 'checkbox' && value === '' ? 'on' : value;
    return { name, value: submitted, type, isChecked: checked !== undefined };
  });

const buttonsIn = (html: string): Button[] =>
  [...html.matchAll(/<button\b([^>]*)>([\s\S]*?)<\/button>/g)].map(([, button, text]) => {
    const { name = '', value = '' } = attributesOf(button as string);
    return { name, value, text: textOf(text as string) };
  });

/** Returns the forms of a page. A button outside of a form belongs to the form that its `form` attribute names. */
export function parseForms(html: string, url: URL): readonly Form[] {
  return [...html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)].map(([, tag, inner]) => {
    const { action = url.href, method = 'get', id } = attributesOf(tag as string);
    const buttonsOutside = [...html.matchAll(/<button\b[^>]*>[\s\S]*?<\/button>/g)]
      .map(([button]) => button)
      .filter((button) => id !== undefined && button.includes(`form="${id}"`));
    const content = `${inner}${buttonsOutside.join('')}`;
    return {
      action: new URL(action, url).href,
      method,
      fields: fieldsIn(content),
      buttons: buttonsIn(content),
    };
  });
}

export const parseLinks = (html: string, url: URL): readonly Link[] =>
  [...html.matchAll(/<a\b([^>]*)>([\s\S]*?)<\/a>/g)].map(([, tag, text]) => ({
    href: new URL(attributesOf(tag as string).href ?? '', url).href,
    text: textOf(text as string),
  }));
