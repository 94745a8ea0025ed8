// How does a page become HTML? Eta templates in views/ (the portal's in its own folder), whose values are escaped unless a template says
// otherwise, and one style sheet under an address that changes with its content.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import { asset } from './asset.ts';

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

const eta = new Eta({ views: file('..'), cache: true, autoEscape: true, autoTrim: false });

/** In the order in which they are to win over each other. */
const styleSheets = ['tokens', 'elements', 'frame', 'cards', 'forms', 'sign-in', 'lists', 'preferences'];

export const assets = {
  styles: asset(
    'site.css',
    'text/css; charset=utf-8',
    Buffer.concat(styleSheets.map((name) => readFileSync(file(`./styles/${name}.css`)))),
  ),
  icon: asset('icon.svg', 'image/svg+xml', readFileSync(file('./icon.svg'))),
};

/** Of whoever is signed in, what every page shows: a name, and how to sign out. */
export interface PageFrame {
  readonly title: string;
  readonly signedIn?: { readonly name: string; readonly csrf: string; readonly portal?: boolean } | undefined;
  /** `wide` for lists; forms stay narrow. */
  readonly width?: 'narrow' | 'wide';
}

/** `view` is a name in views/, or the path of a template from src/ on. */
export const renderPage = (view: string, data: object, frame: PageFrame): string =>
  eta.render(view.startsWith('/') ? view : `/html/views/${view}`, { ...data, frame, assets });

export const renderMail = (letter: object): string => eta.render('/html/views/mail', letter);
