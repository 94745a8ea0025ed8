// The fields of a form for opening hours: pickers for each range of times, and a list of exceptions for single dates.
//
// Each day, and the list of exceptions, is one hidden field with JSON, because a draft keeps the values of fields.
import type { OpeningHours } from '@bay-booking/client';
import { weekdays } from '../../../src/opening-hours/hours.ts';
import { byDate, type Exception, noteOf, type Range } from '../../day/hours.ts';
import { titleOf } from '../../day/sentences.ts';
import { announce, button, type Child, h, link } from '../../dom.ts';
import type { FormDraft } from '../../sign-in.ts';

const maxRanges = 6;

/** Two pickers for each range. The only range can be empty: then it is closed. Calls `write` after each change. */
function rangePickers(label: string, initial: readonly Range[], write: (ranges: readonly Range[]) => void) {
  let ranges: readonly Range[] = [];
  const element = h('div.ranges');
  const draw = (changed: readonly Range[]): void => {
    ranges = changed.length > 0 ? changed : [{ opens: '', closes: '' }];
    element.replaceChildren(...ranges.map(rowOf));
  };
  const save = (): void => write(ranges.filter(({ opens, closes }) => opens || closes));
  const set = (changed: readonly Range[]): void => {
    draw(changed);
    save();
  };
  const setAndFocus = (changed: readonly Range[]): void => {
    set(changed);
    element.querySelector<HTMLElement>('.range:last-child input')?.focus();
  };

  function rowOf(range: Range, index: number): HTMLElement {
    const name = index === 0 ? label : `${label}, hours ${index + 1}`;
    const note = h('span.hint');
    const show = ({ opens, closes }: Range): void => {
      const isClosed = ranges.length === 1 && !opens && !closes;
      note.textContent = isClosed ? 'closed' : noteOf({ opens, closes });
    };
    const change = (): void => {
      const typed = { opens: opens.value, closes: closes.value };
      ranges = ranges.with(index, typed);
      show(typed);
      save();
    };
    const picker = (end: 'opens' | 'closes') =>
      h('input', { type: 'time', value: range[end], 'aria-label': `${name} ${end}`, input: change });
    const [opens, closes] = [picker('opens'), picker('closes')];
    const remove = (): void => setAndFocus(ranges.filter((_, other) => other !== index));
    const add = (): void => setAndFocus([...ranges, { opens: '', closes: '' }]);
    const isLast = index === ranges.length - 1 && ranges.length < maxRanges;
    show(range);
    return h(
      'div.range',
      opens,
      '–',
      closes,
      button('×', remove, { 'aria-label': `Remove the hours: ${name}` }),
      isLast && button('+', add, { 'aria-label': `Add hours: ${label}` }),
      note,
    );
  }
  draw(initial);
  return { element, set };
}

/** A field that nobody sees, with what a draft has or with the value `before` somebody edited it. */
function hiddenField<Value>(name: string, before: readonly Value[], draft: FormDraft | undefined) {
  const field = h('textarea', { name, hidden: true }, JSON.stringify(before));
  const drafted = draft?.values[name]?.[0];
  const write = (values: readonly Value[]): void => {
    field.value = JSON.stringify(values);
    field.dispatchEvent(new Event('input', { bubbles: true }));
  };
  return { field, values: drafted ? (JSON.parse(drafted) as Value[]) : before, write };
}

function group(field: string, label: string, ...content: Child[]): HTMLElement {
  const id = `field-${field}`;
  const problem = h('p.problem', { id: `${id}-problem`, hidden: true });
  return h('fieldset', { id, 'aria-describedby': problem.id }, h('legend', label), ...content, problem);
}

export function weeklyFields(weekly: OpeningHours['weekly'], draft: FormDraft | undefined): HTMLElement[] {
  const days = weekdays.map((weekday) => {
    const { field, values, write } = hiddenField(weekday, weekly[weekday] ?? [], draft);
    return { weekday, field, ...rangePickers(titleOf(weekday), values, write) };
  });
  const copy = (): void => {
    const [first, ...others] = days;
    for (const { set } of others) set(JSON.parse(first?.field.value ?? '[]'));
    announce('The hours of Monday are those of every day now.');
  };
  return days.map(({ weekday, field, element }, index) =>
    group(weekday, titleOf(weekday), field, element, index === 0 && h('div.range', button('Copy to all days', copy))),
  );
}

export function exceptionFields(exceptions: readonly Exception[], draft: FormDraft | undefined): HTMLElement {
  const { field, values, write } = hiddenField('exceptions', byDate(exceptions), draft);
  const list = h('div');
  let shown = values;
  const change = (index: number, changed: Partial<Exception>): void => {
    shown = shown.map((exception, other) => (other === index ? { ...exception, ...changed } : exception));
    write(shown);
  };
  const rowOf = ({ date, hours }: Exception, index: number): HTMLElement => {
    const label = `Exception ${index + 1}`;
    const setDate = (): void => change(index, { date: picker.value });
    const attributes = { type: 'date', max: '9999-12-31', value: date, 'aria-label': `${label} date` };
    const picker = h('input', { ...attributes, input: setDate });
    const remove = (): void => redraw(shown.filter((_, other) => other !== index));
    const removeButton = link('Remove', remove, { 'aria-label': `Remove exception ${index + 1}` });
    const { element } = rangePickers(label, hours, (ranges) => change(index, { hours: [...ranges] }));
    return group(`exceptions-${index}`, label, h('div.range', picker, removeButton), element);
  };
  const draw = (): void => list.replaceChildren(...shown.map(rowOf));
  const redraw = (changed: readonly Exception[]): void => {
    shown = changed;
    draw();
    write(shown);
    (list.querySelector<HTMLElement>('fieldset:last-child input') ?? addButton).focus();
  };
  draw();
  const addButton = button('Add an exception', () => redraw([...shown, { date: '', hours: [] }]));
  return group('exceptions', 'Exceptions', field, list, addButton);
}
