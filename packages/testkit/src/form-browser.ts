// A browser without scripts, for tests: keeps cookies by their path, follows redirects within one site, finds forms and sends them as a
// person would, with every field that the page has filled in.

interface Form {
  readonly action: string;
  readonly method: string;
  readonly fields: readonly Field[];
  readonly buttons: readonly { readonly name: string; readonly value: string; readonly text: string }[];
}

interface Field {
  readonly name: string;
  readonly value: string;
  readonly type: string;
  readonly checked: boolean;
}

export interface Page {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
  readonly title: string;
  readonly forms: readonly Form[];
  readonly links: readonly { readonly href: string; readonly text: string }[];
}

export interface FormBrowser {
  /** Follows redirects until a page of a site in `sites`, or the first address elsewhere, which is answered as it is, unvisited. */
  readonly open: (address: string | URL) => Promise<Page>;
  /** Sends the first form of the page that has all of `values`' fields, or the button. Arrays are ticked checkboxes. */
  readonly send: (
    page: Page,
    values: Record<string, string | readonly string[]>,
    button?: { name: string; value: string } | string,
  ) => Promise<Page>;
  readonly cookies: () => readonly string[];
}

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  /** Cookies know no ports. */
  readonly host: string;
}

const decodeEntities = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

function attributes(tag: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [, name, value] of tag.matchAll(/\s([a-zA-Z-]+)(?:="([^"]*)")?/g))
    found[(name as string).toLowerCase()] = decodeEntities(value ?? '');
  return found;
}

const textOf = (html: string): string =>
  decodeEntities(html.replace(/<[^>]*>/g, ' '))
    .replace(/\s+/g, ' ')
    .trim();

function formsOf(html: string, url: URL): Form[] {
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

export function openFormBrowser(sites: readonly string[], headers: Record<string, string> = {}): FormBrowser {
  const jar = new Map<string, Cookie>();

  const cookiesFor = (url: URL): string =>
    [...jar.values()]
      .filter(
        ({ host, path }) =>
          host === url.hostname &&
          (url.pathname === path || url.pathname.startsWith(path.endsWith('/') ? path : `${path}/`)),
      )
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');

  const keep = (url: URL, response: Response): void => {
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...options] = line.split(/;\s*/);
      const [name = '', ...value] = pair.split('=');
      const option = (wanted: string) =>
        options.find((entry) => entry.toLowerCase().startsWith(`${wanted}=`))?.slice(wanted.length + 1);
      const path = option('path') ?? '/';
      const key = `${url.hostname} ${path} ${name}`;
      const expires = option('expires');
      if (expires && Date.parse(expires) < Date.now()) jar.delete(key);
      else jar.set(key, { name, value: value.join('='), path, host: url.hostname });
    }
  };

  const go = async (address: URL, init: RequestInit = {}): Promise<Page> => {
    let url = address;
    let request = init;
    for (let hops = 0; hops < 15; hops++) {
      if (!sites.includes(url.origin)) {
        return { url, status: 0, headers: new Headers(), html: '', title: '', forms: [], links: [] };
      }
      const response = await fetch(url, {
        ...request,
        redirect: 'manual',
        headers: { ...headers, Cookie: cookiesFor(url), ...(request.headers as Record<string, string>) },
      });
      keep(url, response);
      const location = response.headers.get('location');
      if (response.status >= 300 && response.status < 400 && location) {
        await response.body?.cancel();
        url = new URL(location, url);
        request = {};
        continue;
      }
      const html = await response.text();
      return {
        url,
        status: response.status,
        headers: response.headers,
        html,
        title: textOf(/<title>([\s\S]*?)<\/title>/.exec(html)?.[1] ?? ''),
        forms: formsOf(html, url),
        links: [...html.matchAll(/<a\b([^>]*)>([\s\S]*?)<\/a>/g)].map(([, tag, text]) => ({
          href: new URL(attributes(` ${tag}`).href ?? '', url).href,
          text: textOf(text as string),
        })),
      };
    }
    throw new Error(`too many redirects, last to ${url}`);
  };

  return {
    open: (address) => go(new URL(address)),
    async send(page, values, button) {
      const pressed = (form: Form) =>
        button === undefined
          ? undefined
          : form.buttons.find((entry) =>
              typeof button === 'string'
                ? entry.text.includes(button)
                : entry.name === button.name && entry.value === button.value,
            );
      const form = page.forms.find(
        (entry) =>
          Object.keys(values).every((name) => entry.fields.some((field) => field.name === name)) &&
          (button === undefined || pressed(entry)),
      );
      if (!form) throw new Error(`no form with ${Object.keys(values)} ${JSON.stringify(button)} in\n${page.html}`);
      const body = new URLSearchParams();
      for (const { name, value, type, checked } of form.fields) {
        if (name === '' || name in values || (type === 'checkbox' && !checked)) continue;
        body.append(name, value);
      }
      for (const [name, value] of Object.entries(values))
        for (const entry of [value].flat()) body.append(name, String(entry));
      const by = pressed(form);
      if (by?.name) body.append(by.name, by.value);
      return go(new URL(form.action), {
        method: 'POST',
        body,
        headers: { Origin: page.url.origin, Referer: page.url.href },
      });
    },
    cookies: () => [...jar.values()].map(({ name, value, path }) => `${name}=${value}; Path=${path}`),
  };
}
