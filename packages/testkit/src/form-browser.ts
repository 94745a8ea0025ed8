// A browser without scripts for tests. It stores cookies, follows redirects to the given sites, and submits the forms
// of a page.
import { type Form, type Link, parseForms, parseLinks, textOf } from './html-forms.ts';

export interface Page {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
  readonly title: string;
  readonly forms: readonly Form[];
  readonly links: readonly Link[];
}

export interface FormBrowser {
  /**
   * Follows redirects to addresses of `sites`. A redirect to another site is not followed: the returned page then has
   * the address of that site and the status 0.
   */
  readonly open: (address: string | URL) => Promise<Page>;
  /**
   * Submits the first form that has every field of `values`. If `button` is given, the form must also have this button.
   * `button` is the name and value of the button, or a part of its text. Fields that `values` does not name keep the
   * values of the page. An array names the checked boxes among the checkboxes with one name.
   * @throws {Error} when the page has no such form
   */
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
  /** The host name without the port, because all ports of a host share cookies (RFC 6265, section 8.5). */
  readonly host: string;
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

  const storeCookies = (url: URL, response: Response): void => {
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(/;\s*/);
      const [name = '', ...value] = pair.split('=');
      const attribute = (wanted: string) =>
        attributes.find((entry) => entry.toLowerCase().startsWith(`${wanted}=`))?.slice(wanted.length + 1);
      const path = attribute('path') ?? '/';
      const key = `${url.hostname} ${path} ${name}`;
      const expires = attribute('expires');
      if (expires && Date.parse(expires) < Date.now()) jar.delete(key);
      else jar.set(key, { name, value: value.join('='), path, host: url.hostname });
    }
  };

  const request = async (address: URL, init: RequestInit = {}): Promise<Page> => {
    let url = address;
    let options = init;
    for (let redirects = 0; redirects < 15; redirects++) {
      if (!sites.includes(url.origin)) {
        return { url, status: 0, headers: new Headers(), html: '', title: '', forms: [], links: [] };
      }
      const response = await fetch(url, {
        ...options,
        redirect: 'manual',
        headers: { ...headers, Cookie: cookiesFor(url), ...(options.headers as Record<string, string>) },
      });
      storeCookies(url, response);
      const location = response.headers.get('location');
      if (response.status >= 300 && response.status < 400 && location) {
        await response.body?.cancel();
        url = new URL(location, url);
        options = {};
        continue;
      }
      const html = await response.text();
      return {
        url,
        status: response.status,
        headers: response.headers,
        html,
        title: textOf(/<title>([\s\S]*?)<\/title>/.exec(html)?.[1] ?? ''),
        forms: parseForms(html, url),
        links: parseLinks(html, url),
      };
    }
    throw new Error(`too many redirects, last to ${url}`);
  };

  return {
    open: (address) => request(new URL(address)),
    async send(page, values, button) {
      const buttonOf = (form: Form) =>
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
          (button === undefined || buttonOf(entry)),
      );
      if (!form) throw new Error(`no form with ${Object.keys(values)} ${JSON.stringify(button)} in\n${page.html}`);
      const body = new URLSearchParams();
      for (const { name, value, type, checked } of form.fields) {
        if (name === '' || name in values || (type === 'checkbox' && !checked)) continue;
        body.append(name, value);
      }
      for (const [name, value] of Object.entries(values))
        for (const entry of [value].flat()) body.append(name, String(entry));
      const pressed = buttonOf(form);
      if (pressed?.name) body.append(pressed.name, pressed.value);
      return request(new URL(form.action), {
        method: 'POST',
        body,
        headers: { Origin: page.url.origin, Referer: page.url.href },
      });
    },
    cookies: () => [...jar.values()].map(({ name, value, path }) => `${name}=${value}; Path=${path}`),
  };
}
