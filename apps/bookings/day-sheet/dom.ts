// Creates elements. Strings become text nodes, so an alias such as `<img onerror>` is shown as it is.
export type Child = Node | string | false | undefined;

type Tag = keyof HTMLElementTagNameMap;
type TagOf<Selector> = Selector extends `${infer Name extends Tag}.${string}` ? Name : Selector;
type Attributes = Readonly<Record<string, unknown>>;

/**
 * `selector` is a tag, or a tag with classes such as `p.hint`. In attributes, a function becomes a listener for the
 * event of its name.
 */
export function h<Selector extends Tag | `${Tag}.${string}`>(
  selector: Selector,
  ...parts: readonly (Child | Attributes)[]
) {
  const [tag, ...classes] = selector.split('.');
  const element = document.createElement(tag as TagOf<Selector> & Tag);
  if (classes.length > 0) element.className = classes.join(' ');
  for (const part of parts) {
    if (part instanceof Node || typeof part === 'string') element.append(part);
    else if (part) setAttributes(element, part);
  }
  return element;
}

function setAttributes(element: HTMLElement, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name, value as EventListener);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
}

/** Sets variables that day-sheet.css calculates with. */
export function setVariables(element: HTMLElement, variables: Readonly<Record<string, string | number>>): void {
  for (const [name, value] of Object.entries(variables)) element.style.setProperty(`--${name}`, String(value));
}

type Content = string | readonly Child[];

export const button = (label: Content, click: () => unknown, attributes: Attributes = {}) =>
  h('button', { type: 'button', click, ...attributes }, ...[label].flat());

/** A button that looks like a link. */
export const link = (label: Content, click: () => unknown, attributes: Attributes = {}) =>
  button(label, click, { class: 'link', ...attributes });

/** Joins texts with commas. Each text has its own direction, so a name in Hebrew does not turn a range of times. */
export const listOf = (...texts: readonly (string | false | undefined)[]): Child[] =>
  texts.filter(Boolean).flatMap((text, index) => [index > 0 && ', ', h('bdi', text || '')]);

/** A control of the toolbar with its label. */
export const labelled = (text: string, control: HTMLElement) =>
  h('div.control', h('label', { for: control.id }, text), control);

/** What takes the focus if its element is gone: the open form, or else the view that is shown. */
const fallbacks = ['dialog[open] :is(input, select, textarea, button)', '.sheet', '.list', '.report', 'main'];

/** Focuses an element again, or the one that was drawn in its place, or else the form or the view that is shown. */
export function focusAgain(element: Element | null): void {
  const { id, dataset } = (element ?? document.body) as HTMLElement;
  const selectors = [...fallbacks];
  if (id) selectors.unshift(`#${CSS.escape(id)}`);
  if (dataset.id) selectors.unshift(`main [data-id="${CSS.escape(dataset.id)}"]`);
  const others = selectors.flatMap((selector) => [...document.querySelectorAll<HTMLElement>(selector)]);
  for (const candidate of [element as HTMLElement | null, ...others]) {
    // This does nothing if the element is hidden or no longer on the page.
    candidate?.focus();
    if (candidate === document.activeElement && candidate !== document.body) return;
  }
}

/** Makes a change in an element. If it removes what has the focus, the keyboard keeps its place. */
export function keepFocus(element: Element, change: () => void): void {
  const focused = document.activeElement;
  const hasFocus = element.contains(focused);
  change();
  if (hasFocus && !focused?.isConnected) focusAgain(focused);
}

export const removeElement = (element: Element): void => keepFocus(element, () => element.remove());

/** Replaces the content of the page. */
export function showMain(...elements: readonly HTMLElement[]): void {
  const main = document.querySelector('main') as HTMLElement;
  keepFocus(main, () => main.replaceChildren(...elements));
  announce(elements[0]?.querySelector('h1')?.textContent ?? '');
}

/** Lets screen readers say a text. */
export function announce(text: string): void {
  const region = document.getElementById('announcements');
  if (region) region.textContent = text;
}

/** Shows a message at the bottom of the page for 10 seconds, with a button if the reader can do something about it. */
export function notify(content: Content, action?: { readonly label: string; readonly act: () => unknown }): void {
  const earlier = document.querySelector('.toast');
  if (earlier) removeElement(earlier);
  const toast = h(
    'div.toast',
    { popover: 'manual', role: 'region', 'aria-label': 'Message' },
    h('span', ...[content].flat()),
  );
  const close = () => removeElement(toast);
  if (action)
    toast.append(
      button(action.label, () => {
        close();
        return action.act();
      }),
    );
  toast.append(button('Close', close, { class: 'link' }));
  // The controls outside an open dialog do not work.
  (document.querySelector('dialog[open]') ?? document.body).append(toast);
  toast.showPopover();
  announce(toast.firstElementChild?.textContent ?? '');
  setTimeout(close, 10_000);
}

/** Moves the message out of a dialog that closes. */
export function keepToast(dialog: Element): void {
  const toast = dialog.querySelector<HTMLElement>('.toast');
  if (!toast) return;
  document.body.append(toast);
  toast.showPopover();
}
