// Shows forms in dialogs. A form keeps what was typed until its changes are saved.
import { describeError } from '../data/errors.ts';
import type { Day } from '../day/day.ts';
import { ChangedMeanwhile, type Description } from '../day/sentences.ts';
import { button, type Child, focusAgain, h, keepFocus, keepToast, notify } from '../dom.ts';
import { drafts, type FormDraft } from '../sign-in.ts';

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** The type of an input, `select`, `textarea`, or `checkboxes` for several choices. */
type FieldType =
  | 'text'
  | 'tel'
  | 'email'
  | 'datetime-local'
  | 'date'
  | 'time'
  | 'number'
  | 'select'
  | 'checkboxes'
  | 'checkbox'
  | 'textarea';

export interface FieldOptions {
  /** The choices of `select` and `checkboxes`. */
  readonly options?: readonly (readonly [value: string, label: string])[];
  readonly hint?: string;
  readonly [attribute: string]: unknown;
}

export interface FormContext {
  readonly day: Day;
  /** Whether the user may change bookings now: the right exists and the sheet is not locked. */
  readonly mayWrite: boolean;
  readonly mayClose: boolean;
  readonly subject: string;
  /** Loads the day again. */
  readonly reload: () => void;
}

interface DialogOptions {
  readonly title: string;
  readonly day: Day;
  /** Opens the same form again after a sign-in. */
  readonly kind: string;
  readonly context?: unknown;
  readonly content: readonly Child[];
  /** A search has nothing to lose, so it closes without a question. */
  readonly isSearch?: boolean;
  /** If it is left out, the form only shows its fields. */
  readonly submitLabel?: string | false;
  readonly buttons?: readonly Child[];
  /** Closes the dialog unless it returns false. Its errors appear in the form. */
  readonly save?: (values: FormData) => Promise<unknown>;
  /** Opens the form for what another person has saved meanwhile. The draft has the fields that the user has edited. */
  readonly reopen?: (current: object, draft: FormDraft) => void;
}

export type Form = ReturnType<typeof openForm>;

export function formField(
  type: FieldType,
  name: string,
  label: string,
  value: string | readonly string[] | boolean = '',
  { options = [], hint, ...attributes }: FieldOptions = {},
): HTMLElement {
  const id = `field-${name}`;
  const described = { id, 'aria-describedby': `${hint ? `${id}-hint ` : ''}${id}-problem` };
  const notes = [
    hint !== undefined && h('p', { id: `${id}-hint`, class: 'hint' }, hint),
    h('p', { id: `${id}-problem`, class: 'problem', hidden: true }),
  ];
  const isSelected = (option: string): boolean => [value].flat().includes(option);
  if (type === 'checkboxes') {
    const boxes = options.map(([of, text]) =>
      h('label', h('input', { type: 'checkbox', name, value: of, checked: isSelected(of) }), text),
    );
    const labelled = { tabindex: 0, role: 'group', 'aria-labelledby': `${id}-label`, ...described };
    const list = h('div.choices', labelled, ...boxes);
    return h('div.field', h('span.label', { id: `${id}-label` }, label), list, ...notes);
  }
  const common = { name, autocomplete: 'off', ...described, ...attributes };
  const createControl = (): Control => {
    if (type === 'textarea') return h('textarea', { rows: 4, ...common }, String(value));
    if (type === 'checkbox') return h('input', { type, checked: value, ...common });
    if (type !== 'select') return h('input', { type, value, ...common });
    return h(
      'select',
      common,
      ...options.map(([of, text]) => h('option', { value: of, selected: isSelected(of) }, text)),
    );
  };
  return h('div', { class: `field field-${type}` }, h('label', { for: id }, label), createControl(), ...notes);
}

const controlsOf = (form: HTMLFormElement): Control[] => [
  ...form.querySelectorAll<Control>('input[name], select[name], textarea[name]'),
];

function isEdited(control: Control): boolean {
  if (control instanceof HTMLSelectElement) return !control.selectedOptions[0]?.defaultSelected;
  if (control.type === 'checkbox')
    return control instanceof HTMLInputElement && control.checked !== control.defaultChecked;
  // Controls change line breaks.
  const unedited = control.cloneNode() as typeof control;
  unedited.value = control.defaultValue;
  return control.value !== unedited.value;
}

function valuesOf(form: HTMLFormElement, controls: readonly Control[]): FormDraft['values'] {
  const data = new FormData(form);
  return Object.fromEntries(controls.map(({ name }) => [name, data.getAll(name).map(String)]));
}

function fill(form: HTMLFormElement, values: FormDraft['values']): void {
  for (const control of controlsOf(form)) {
    const typed = values[control.name];
    if (typed && control.type === 'checkbox') (control as HTMLInputElement).checked = typed.includes(control.value);
    else if (typed) control.value = typed[0] ?? '';
    // Other parts of the form depend on it.
    if (typed) control.dispatchEvent(new Event('input', { bubbles: true }));
  }
}

const withReassurance = ({ text, isOutage, ...description }: Description): Description => ({
  ...description,
  text: isOutage ? `${text} What you typed is still here.` : text,
});

/** What had the focus before the first of the forms that replace each other. */
let openedFrom: Element | null = null;

export function openForm(options: DialogOptions, draft?: FormDraft) {
  const { title, day, kind, context, content, submitLabel, buttons = [], isSearch, save, reopen } = options;
  const earlier = document.querySelector('dialog');
  if (!earlier) openedFrom = document.activeElement;
  const problems = h('div', { role: 'alert', class: 'problems' });
  const below = h('div.below');
  const submit = submitLabel ? h('button', { type: 'submit', class: 'primary' }, submitLabel) : undefined;
  const formElement: HTMLFormElement = h(
    'form',
    { novalidate: true },
    h('h2', { id: 'dialog-title' }, title),
    problems,
    ...content,
    below,
    h('div.buttons', submit, ...buttons),
    // The last element, so that the first field has the focus. “Close” as a label would also mean: close the bays.
    button('×', dismiss, { class: 'dismiss', 'aria-label': 'Close' }),
  );
  const dialog: HTMLDialogElement = h('dialog', { 'aria-labelledby': 'dialog-title' }, formElement);
  if (!submit) for (const control of controlsOf(formElement)) control.disabled = true;

  const showProblems = (shown: readonly Description[]): void => {
    for (const element of formElement.querySelectorAll<HTMLElement>('.problem')) element.hidden = true;
    for (const element of formElement.querySelectorAll('[aria-invalid]')) element.removeAttribute('aria-invalid');
    problems.replaceChildren();
    for (const { field: name, text } of shown) {
      const place = name ? formElement.querySelector<HTMLElement>(`#field-${name}-problem`) : undefined;
      if (!place) {
        problems.append(h('p', text));
        continue;
      }
      // The start and the end of a time can have the same problem.
      if (place.hidden) place.textContent = text;
      else if (!place.textContent?.includes(text)) place.textContent += ` ${text}`;
      place.hidden = false;
      // A bay that is not free is not free at this time.
      for (const id of (name === 'bayId' ? [name, 'startDate', 'endDate'] : [name]).map((of) => `#field-${of}`))
        for (const invalid of formElement.querySelectorAll(`${id}, ${id} :is([type=time], [type=date])`))
          invalid.setAttribute('aria-invalid', 'true');
    }
    if (shown.length > 0 && problems.childElementCount === 0) problems.append(h('p', 'Please check the fields.'));
  };

  const draftOf = (controls: readonly Control[]): FormDraft => ({
    kind,
    context,
    values: valuesOf(formElement, controls),
  });
  const ownDraft = (): FormDraft => draftOf(controlsOf(formElement));

  const run = async (action: () => Promise<unknown>): Promise<void> => {
    if (formElement.ariaBusy) return;
    formElement.ariaBusy = 'true';
    try {
      showProblems([]);
      if ((await action()) !== false) dialog.close();
    } catch (error) {
      if (error instanceof ChangedMeanwhile && error.current && reopen)
        reopen(error.current, { ...draftOf(controlsOf(formElement).filter(isEdited)), problem: error.message });
      else {
        const shown = (await describeError(error, day)).map(withReassurance);
        // The user may have closed the form meanwhile.
        if (dialog.isConnected) showProblems(shown);
        else notify(shown.map(({ text }) => text).join(' '));
      }
    } finally {
      formElement.ariaBusy = null;
    }
  };

  formElement.addEventListener('submit', (event) => {
    event.preventDefault();
    if (save) void run(async () => save(new FormData(formElement)));
  });
  /** Shows content below the fields, for example the conflicts of a series. */
  function showBelow(...shown: readonly Node[]): void {
    keepFocus(below, () => below.replaceChildren(...shown));
    if (shown.length > 0) below.scrollIntoView({ block: 'nearest' });
  }

  /** Closes the form, or asks first if something typed would be lost. */
  function dismiss(): void {
    if (isSearch || !controlsOf(formElement).some(isEdited)) {
      dialog.close();
      return;
    }
    const discard = button('Discard changes', () => dialog.close(), { class: 'danger' });
    const keep = button('Keep editing', () => showBelow());
    showBelow(h('div.question', { role: 'alert' }, h('p', 'Discard your changes?'), discard, keep));
    keep.focus();
  }

  // A browser lets a page prevent only one `cancel` in a row, so the key has an event of its own.
  for (const type of ['cancel', 'keydown'])
    dialog.addEventListener(type, (event) => {
      if (event instanceof KeyboardEvent && event.key !== 'Escape') return;
      event.preventDefault();
      dismiss();
    });
  dialog.addEventListener('close', () => {
    keepToast(dialog);
    dialog.remove();
    // Another form may already have taken the place of this one.
    if (drafts.current !== ownDraft) return;
    drafts.current = undefined;
    focusAgain(openedFrom);
  });
  if (earlier) keepToast(earlier);
  earlier?.remove();
  document.body.append(dialog);
  if (draft) fill(formElement, draft.values);
  drafts.current = ownDraft;
  dialog.showModal();
  if (draft?.problem) showProblems([{ text: draft.problem }]);
  return {
    element: dialog,
    values: () => new FormData(formElement),
    /** Runs an action of a button in the form, as `save` runs. */
    run,
    showBelow,
    setSubmitLabel: (label: string): void => {
      if (submit) submit.textContent = label;
    },
    /** Fills fields and submits the form. */
    submitWith: (values: FormDraft['values']): void => {
      fill(formElement, values);
      formElement.requestSubmit();
    },
  };
}
