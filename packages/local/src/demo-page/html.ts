// Builds the layout of demo pages and HTML whose values are escaped.
import { hash } from 'node:crypto';

/** HTML that must not be escaped again. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Value = string | false | undefined | Html | readonly Value[];

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function textOf(value: Value): string {
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(textOf).join('');
  return String(value || '').replace(/[&<>"']/g, (character) => entities[character] as string);
}

/** Escapes every value of the template except HTML that another template built. */
export const html = (parts: TemplateStringsArray, ...values: readonly Value[]): Html =>
  new Html(String.raw({ raw: parts }, ...values.map(textOf)));

const style = `
:root { color-scheme: light dark; --line: light-dark(#d5dae3, #3a424e); --muted: light-dark(#515c70, #a9b3c2) }
* { box-sizing: border-box }
body { margin: 0; font: 1rem/1.5 system-ui, sans-serif; background: light-dark(#f4f6fa, #14171c);
  color: light-dark(#1b2230, #e8ebf0) }
header, main { max-width: 60rem; margin: 0 auto; padding: 1rem }
header { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; align-items: center }
header strong { margin-inline-end: auto }
section { margin: 0 0 1.25rem; padding: 1rem 1.25rem 1.25rem; background: light-dark(#fff, #1e232b);
  border: 1px solid var(--line); border-radius: .75rem }
h1 { font-size: 1.5rem } h2 { margin: 0 0 .5rem; font-size: 1.15rem } h3 { margin: 1.25rem 0 .25rem; font-size: 1rem }
p { margin: .5rem 0 } .muted { color: var(--muted) }
a { color: light-dark(#0b57c4, #8ab8ff) } header a, li a { display: inline-block; padding: .25rem 0 }
ul { display: flex; flex-wrap: wrap; gap: 0 1.25rem; margin: 0; padding: 0; list-style: none }
table { width: 100%; border-collapse: collapse } th, td { padding: .4rem .5rem; text-align: start;
  vertical-align: top; border-top: 1px solid var(--line) } #parameters td { width: 100%; overflow-wrap: anywhere }
pre { margin: .5rem 0; padding: .75rem; overflow-x: auto; border-radius: .5rem; background: light-dark(#eef1f6, #12151a);
  font-size: .875rem } pre.text { white-space: pre-wrap; overflow-wrap: anywhere } .code { font-size: 2rem }`;

/** Shows the parameters of the URL fragment, which browsers do not send to the server. */
const script = `
const rows = document.querySelector('#parameters');
for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
  const row = rows.insertRow();
  row.append(Object.assign(document.createElement('th'), { scope: 'row', textContent: name }));
  row.insertCell().textContent = value;
  if (name !== 'access_token' || !/^[\\w.~-]+$/.test(value)) continue;
  const command = document.querySelector('#token code');
  command.textContent = command.textContent.replace('ACCESS_TOKEN', value);
  document.querySelector('#token').hidden = false;
}
document.querySelector('#nothing').hidden = rows.rows.length > 0;`;

const source = (text: string) => `'sha256-${hash('sha256', text, 'base64')}'`;

export const headers = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy':
    `default-src 'none'; img-src data:; style-src ${source(style)}; script-src ${source(script)}; ` +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

export const scriptElement = html`<script>${new Html(script)}</script>`;

export const page = (title: string, content: Value): string =>
  html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – Bay Booking demo</title>
<link rel="icon" href="data:,">
<style>${new Html(style)}</style>
<header><strong>Bay Booking demo</strong><a href="/">Flows</a><a href="/mail">Mail</a></header>
<main><h1>${title}</h1>${content}</main>
</html>
`.text;

export const command = (text: string): Html => html`<pre tabindex="0"><code>${text}</code></pre>`;
