// Shows forms in dialogs. A form keeps what was typed until its changes are saved.
import { button, type Child, h, keepToast } from '../dom.ts';
import type { Draft } from '../sign-in.ts';

export interface FieldOptions {
  readonly name: string;
  readonly label: string;
  readonly type?: 'text' | 'datetime-local' | 'number' | 'select' | 'checkboxes' | 'checkbox' | 'textarea';
  readonly value?: string | readonly string[] | boolean;
  /** The choices of `select` and `checkboxes`. */
  readonly options?: readonly (readonly [value: string, label: string])[];
  readonly hint?: string;
  readonly attributes?: Readonly<Record<string, unknown>>;
}

export interface FormProblem {
  /** The name of a field. Problems without a field appear above the form. */
  readonly field?: string | undefined;
  readonly text: string;
}

export interface FormOptions {
  readonly title: string;
  /** Opens the same form again after a sign-in. */
  readonly draft: Pick<Draft, 'kind' | 'context'>;
  readonly fields: readonly FieldOptions[];
  readonly content?: readonly Child[];
  readonly submitLabel?: string | undefined;
  readonly buttons?: readonly Child[];
  /** Closes the dialog unless it returns false. Its errors appear in the form. */
  readonly save?: (values: FormData, form: Form) => Promise<unknown>;
  /** Sends the user to auth if necessary, or describes the error in sentences. */
  readonly describe: (error: unknown) => Promise<readonly FormProblem[]>;
}

export interface Form {
  readonly element: HTMLDialogElement;
  /** Runs an action of a button in the form, as `save` runs. */
  readonly run: (action: () => Promise<unknown>) => Promise<void>;
  /** Shows content below the fields, for example the conflicts of a series. */
  readonly showBelow: (...content: Child[]) => void;
  readonly setSubmitLabel: (label: string) => void;
}

let openDraft: (() => Draft) | undefined;

export const currentDraft = (): Draft | undefined => openDraft?.();

/** A field of the same name that the form lacks is ignored: the form may have changed since. */
function fill(form: HTMLFormElement, values: Draft['values']): void {
  const names = new Set(values.map(([name]) => name));
  for (const control of form.elements) {
    if (control instanceof HTMLInputElement && control.type === 'checkbox')
      control.checked = values.some(([name, value]) => name === control.name && value === control.value);
    else if (
      (control instanceof HTMLInputElement ||
        control instanceof HTMLTextAreaElement ||
        control instanceof HTMLSelectElement) &&
      names.has(control.name)
    )
      control.value = values.find(([name]) => name === control.name)?.[1] ?? '';
  }
}

function controlOf({ name, type = 'text', value, options = [], attributes }: FieldOptions, id: string): HTMLElement {
  const selected = new Set([value].flat());
  const common = { id, name, ...attributes };
  if (type === 'select')
    return h(
      'select',
      common,
      ...options.map(([of, label]) => h('option', { value: of, selected: selected.has(of) }, label)),
    );
  if (type === 'textarea') return h('textarea', { rows: 4, ...common }, String(value ?? ''));
  if (type === 'checkbox') return h('input', { type, value: 'on', checked: value === true, ...common });
  return h('input', { type, value, autocomplete: 'off', ...common });
}

function fieldOf(field: FieldOptions): HTMLElement {
  const { name, label, type, options = [], hint, value } = field;
  const id = `field-${name}`;
  const problem = h('p', { id: `${id}-problem`, class: 'problem', hidden: true });
  const hintOf = hint && h('p', { id: `${id}-hint`, class: 'hint' }, hint);
  const described = `${hint ? `${id}-hint ` : ''}${id}-problem`;
  if (type === 'checkboxes') {
    const selected = new Set([value].flat());
    const boxes = options.map(([of, text]) =>
      h('label', {}, h('input', { type: 'checkbox', name, value: of, checked: selected.has(of) }), text),
    );
    const list = h('div', { class: 'choices', tabindex: 0, role: 'group', 'aria-label': label }, ...boxes);
    return h('fieldset', { id, 'aria-describedby': described }, h('legend', {}, label), list, hintOf, problem);
  }
  const control = controlOf({ ...field, attributes: { 'aria-describedby': described, ...field.attributes } }, id);
  return h('div', { class: `field field-${type ?? 'text'}` }, h('label', { for: id }, label), control, hintOf, problem);
}

export function openForm(options: FormOptions, values?: Draft['values']): Form {
  const { title, draft, fields, content = [], submitLabel, buttons = [], save, describe } = options;
  const before = document.activeElement;
  const closeButton = button('Close', () => dialog.close());
  const problems = h('div', { role: 'alert', class: 'problems' });
  const below = h('div', { class: 'below' });
  const submit = submitLabel ? h('button', { type: 'submit', class: 'primary' }, submitLabel) : undefined;
  const formElement: HTMLFormElement = h(
    'form',
    { novalidate: true },
    h('h2', { id: 'dialog-title' }, title),
    problems,
    ...fields.map(fieldOf),
    ...content,
    below,
    h('div', { class: 'buttons' }, submit, ...buttons, closeButton),
  );
  const dialog: HTMLDialogElement = h('dialog', { 'aria-labelledby': 'dialog-title' }, formElement);

  const showProblems = (shown: readonly FormProblem[]): void => {
    for (const element of formElement.querySelectorAll<HTMLElement>('.problem')) element.hidden = true;
    for (const element of formElement.querySelectorAll('[aria-invalid]')) element.removeAttribute('aria-invalid');
    problems.replaceChildren();
    for (const { field, text } of shown) {
      const place = field ? formElement.querySelector<HTMLElement>(`#field-${field}-problem`) : undefined;
      if (!place) {
        problems.append(h('p', {}, text));
        continue;
      }
      place.textContent = place.hidden ? text : `${place.textContent} ${text}`;
      place.hidden = false;
      formElement.querySelector(`#field-${field}`)?.setAttribute('aria-invalid', 'true');
    }
    if (shown.length > 0 && problems.childElementCount === 0) problems.append(h('p', {}, 'Please check the fields.'));
  };

  let isRunning = false;
  const run: Form['run'] = async (action) => {
    if (isRunning) return;
    isRunning = true;
    formElement.setAttribute('aria-busy', 'true');
    try {
      showProblems([]);
      if ((await action()) !== false) dialog.close();
    } catch (error) {
      showProblems(await describe(error));
    } finally {
      formElement.removeAttribute('aria-busy');
      isRunning = false;
    }
  };

  const form: Form = {
    element: dialog,
    run,
    showBelow: (...shown) => below.replaceChildren(...shown.filter((child) => child !== false && child !== undefined)),
    setSubmitLabel: (label) => {
      if (submit) submit.textContent = label;
    },
  };
  formElement.addEventListener('submit', (event) => {
    event.preventDefault();
    if (save) void run(async () => save(new FormData(formElement), form));
  });
  dialog.addEventListener('close', () => {
    keepToast(dialog);
    dialog.remove();
    // Another form may already have taken the place of this one.
    if (openDraft !== ownDraft) return;
    openDraft = undefined;
    if (before instanceof HTMLElement && before.isConnected) before.focus();
    else document.querySelector<HTMLElement>('.sheet')?.focus();
  });
  const earlier = document.querySelector('dialog');
  if (earlier) keepToast(earlier);
  earlier?.remove();
  document.body.append(dialog);
  if (values) fill(formElement, values);
  const ownDraft = (): Draft => ({
    ...draft,
    values: [...new FormData(formElement)].map(([name, value]) => [name, String(value)] as const),
  });
  openDraft = ownDraft;
  dialog.showModal();
  return form;
}
