// Simulates a browser without scripts for tests. The browser stores cookies, follows redirects to the sites that were
// given to `openFormBrowser`, and submits the forms of a page.
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

/**
 * The values of fields by their names. If several checkboxes have the same name, an array contains the values of those
 * that are checked.
 */
type Values = Readonly<Record<string, string | readonly string[]>>;
/** The name and value of a button, or a part of its text. */
type ButtonSelector = { readonly name: string; readonly value: string } | string;
/** A form, by one of its buttons or by the end of its path. */
type FormSelector = ButtonSelector | { readonly action: string };

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  /** The host name without the port, because all ports of a host share cookies (RFC 6265, section 8.5). */
  readonly host: string;
  /** The header Set-Cookie, with all attributes. */
  readonly line: string;
}

const maxRedirects = 15;

class CookieJar {
  readonly #cookies = new Map<string, Cookie>();

  all(): readonly Cookie[] {
    return [...this.#cookies.values()];
  }

  cookieHeaderFor({ hostname, pathname }: URL): string {
    return this.all()
      .filter(({ host, path }) => {
        const folder = path.endsWith('/') ? path : `${path}/`;
        return host === hostname && (pathname === path || pathname.startsWith(folder));
      })
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
  }

  /** Stores the cookies of a response. A cookie that has expired is deleted. */
  store(url: URL, response: Response): void {
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(/;\s*/);
      const [name = '', ...value] = pair.split('=');
      const attribute = (attributeName: string) =>
        attributes.find((text) => text.toLowerCase().startsWith(`${attributeName}=`))?.slice(attributeName.length + 1);
      const path = attribute('path') ?? '/';
      const key = `${url.hostname} ${path} ${name}`;
      const expires = attribute('expires');
      if (expires && Date.parse(expires) < Date.now()) this.#cookies.delete(key);
      else this.#cookies.set(key, { name, value: value.join('='), path, host: url.hostname, line });
    }
  }
}

export type FormBrowser = ReturnType<typeof openFormBrowser>;

/**
 * Opens a browser that sends requests only to the origins in `sites`, and adds `headers` to each request. The first
 * site is the base of addresses that are only a path.
 */
export function openFormBrowser(sites: readonly string[], headers: Record<string, string> = {}) {
  const jar = new CookieJar();

  const request = async (address: URL, init: RequestInit = {}): Promise<Page> => {
    let url = address;
    let options = init;
    for (let redirects = 0; redirects < maxRedirects; redirects++) {
      if (!sites.includes(url.origin)) {
        return { url, status: 0, headers: new Headers(), html: '', title: '', forms: [], links: [] };
      }
      const response = await fetch(url, {
        ...options,
        redirect: 'manual',
        headers: { Cookie: jar.cookieHeaderFor(url), ...(options.headers as Record<string, string>), ...headers },
      });
      jar.store(url, response);
      const location = response.headers.get('location');
      if (response.status >= 300 && response.status < 400 && location) {
        // Canceling the unread body frees the connection.
        await response.body?.cancel();
        url = new URL(location, url);
        // Browsers follow a 302 or 303 with a GET request without a body. This test browser does so after every
        // redirect.
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

  /**
   * Follows redirects to the sites that were given to `openFormBrowser`. A redirect to another site is not followed:
   * the returned page then has the address of the other site and the status 0.
   */
  const open = (address: string | URL) => request(new URL(address, sites[0]));

  /**
   * Submits the first form that has every field of `values` and, if it is given, the button. Fields that `values`
   * does not name keep the values of the page. If the form is selected by its path, other fields are added, as an
   * attacker could do.
   * @throws {Error} if the page has no such form
   */
  const send = async (page: Page, values: Values, selector?: FormSelector) => {
    const hasFields = ({ fields }: Form) =>
      Object.keys(values).every((name) => fields.some((field) => field.name === name));
    const action = typeof selector === 'object' && 'action' in selector ? selector.action : undefined;
    const button = action === undefined ? (selector as ButtonSelector | undefined) : undefined;
    const form = page.forms.find((candidate) =>
      action === undefined
        ? hasFields(candidate) && (button === undefined || findButton(candidate, button))
        : new URL(candidate.action).pathname.endsWith(action),
    );
    if (!form) throw new Error(`no form with ${Object.keys(values)} ${JSON.stringify(selector)} in\n${page.html}`);
    return request(new URL(form.action), {
      method: 'POST',
      body: formBody(form, values, button),
      headers: { Origin: page.url.origin, Referer: page.url.href },
    });
  };

  return {
    open,
    send,
    /** Opens the page, and submits its form as `send` does. */
    submit: async (address: string | URL, values: Values, selector?: FormSelector) =>
      send(await open(address), values, selector),
    /** Sends a form that no page needs to have, as an attacker could do. */
    post: (address: string | URL, values: Record<string, string>) =>
      request(new URL(address, sites[0]), {
        method: 'POST',
        body: new URLSearchParams(values),
        headers: { Origin: sites[0] as string },
      }),
    /** Returns the header Set-Cookie of each stored cookie. */
    cookies: () => jar.all().map(({ line }) => line),
    /** Returns the header Cookie that the browser sends to a path of its first site. */
    cookieHeader: (path = '/') => jar.cookieHeaderFor(new URL(path, sites[0])),
  };
}

/** The address of the first link whose text contains `part`, or whose address ends with `part`. */
export function linkTo(page: Page, part: string): string {
  const link = page.links.find(({ text, href }) => text.includes(part) || href.endsWith(part));
  if (!link) throw new Error(`no link ${part} at ${page.url}`);
  return link.href;
}

/** The value of the first field with this name, in the forms whose path ends with `action`. */
export const fieldOf = (page: Page, name: string, { action = '' } = {}): string | undefined =>
  page.forms
    .filter((form) => new URL(form.action).pathname.endsWith(action))
    .flatMap(({ fields }) => fields)
    .find((field) => field.name === name)?.value;

function findButton({ buttons }: Form, selector: ButtonSelector | undefined) {
  if (selector === undefined) return undefined;
  if (typeof selector === 'string') return buttons.find(({ text }) => text.includes(selector));
  return buttons.find(({ name, value }) => name === selector.name && value === selector.value);
}

/** Returns the body that a browser sends when the user has entered the values and pressed the button. */
function formBody(form: Form, values: Values, button: ButtonSelector | undefined): URLSearchParams {
  const body = new URLSearchParams();
  for (const { name, value, type, isChecked } of form.fields) {
    const isSubmitted = name !== '' && ((type !== 'checkbox' && type !== 'radio') || isChecked);
    if (isSubmitted && !(name in values)) body.append(name, value);
  }
  for (const [name, value] of Object.entries(values))
    for (const entry of [value].flat()) body.append(name, String(entry));
  const pressedButton = findButton(form, button);
  if (pressedButton?.name) body.append(pressedButton.name, pressedButton.value);
  return body;
}
