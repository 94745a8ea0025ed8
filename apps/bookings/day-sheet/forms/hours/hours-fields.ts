// The fields of a form for opening hours: pickers for each range of times, and a list of exceptions for single dates.
//
// Each day, and the list of exceptions, is one hidden field with a text, because a draft keeps the values of fields.
import type { OpeningHours } from '@bay-booking/client';
import { weekdays } from '../../../src/opening-hours/hours.ts';
import {
  type ExceptionText,
  noteOf,
  type Range,
  splitExceptions,
  splitRanges,
  writeExceptions,
  writeRanges,
} from '../../day/hours.ts';
import { titleOf } from '../../day/sentences.ts';
import { announce, button, type Child, h } from '../../dom.ts';

const maxRanges = 6;

type ShownText = (field: string) => string | undefined;

/** Two pickers for each range. The only range can be empty: then it is closed. Calls `write` after each change. */
function rangePickers(label: string, text: string, write: (text: string) => void) {
  let ranges: Range[] = [];
  const element = h('div.ranges');
  const rowOf = (range: Range, index: number): HTMLElement => {
    const name = index === 0 ? label : `${label}, hours ${index + 1}`;
    const note = h('span.hint');
    const show = (): void => {
      const isClosed = ranges.length === 1 && !range.opens && !range.closes;
      note.textContent = isClosed ? 'closed' : noteOf(range);
    };
    const picker = (end: 'opens' | 'closes'): HTMLElement => {
      const change = ({ currentTarget }: Event): void => {
        range = { ...range, [end]: (currentTarget as HTMLInputElement).value };
        ranges[index] = range;
        show();
        write(writeRanges(ranges));
      };
      return h('input', { type: 'time', value: range[end], 'aria-label': `${name} ${end}`, input: change });
    };
    const remove = (): void => change(ranges.filter((_, other) => other !== index));
    const add = (): void => change([...ranges, { opens: '', closes: '' }]);
    show();
    return h(
      'div.range',
      picker('opens'),
      '–',
      picker('closes'),
      button('×', remove, { 'aria-label': `Remove the hours: ${name}` }),
      index === ranges.length - 1 &&
        ranges.length < maxRanges &&
        button('+', add, { 'aria-label': `Add hours: ${label}` }),
      note,
    );
  };
  const draw = (changed: Range[]): void => {
    ranges = changed.length > 0 ? changed : [{ opens: '', closes: '' }];
    element.replaceChildren(...ranges.map(rowOf));
  };
  const change = (changed: Range[]): void => {
    draw(changed);
    write(writeRanges(ranges));
    element.querySelector<HTMLElement>('.range:last-child input')?.focus();
  };
  const set = (changed: string): void => {
    draw(splitRanges(changed));
    write(changed);
  };
  draw(splitRanges(text));
  return { element, set };
}

/** A field that nobody sees. Its text is that of the pickers; `before` is the text before somebody edited it. */
function hiddenField(name: string, before: string) {
  const field = h('textarea', { name, hidden: true }, before);
  const write = (text: string): void => {
    field.value = text;
    field.dispatchEvent(new Event('input', { bubbles: true }));
  };
  return { field, write };
}

function group(field: string, label: string, ...content: Child[]): HTMLElement {
  const id = `field-${field}`;
  const problem = h('p', { id: `${id}-problem`, class: 'problem', hidden: true });
  return h('fieldset', { id, 'aria-describedby': problem.id }, h('legend', label), ...content, problem);
}

/** `shownText` returns the text of a draft, if there is one. */
export function weeklyFields(weekly: OpeningHours['weekly'], shownText: ShownText): HTMLElement[] {
  const days = weekdays.map((weekday) => {
    const before = writeRanges(weekly[weekday]);
    const { field, write } = hiddenField(weekday, before);
    return { weekday, field, ...rangePickers(titleOf(weekday), shownText(weekday) ?? before, write) };
  });
  const copy = (): void => {
    const [first, ...others] = days;
    for (const { set } of others) set(first?.field.value ?? '');
    announce('The hours of Monday are those of every day now.');
  };
  return days.map(({ weekday, field, element }, index) =>
    group(weekday, titleOf(weekday), field, element, index === 0 && h('div.range', button('Copy to all days', copy))),
  );
}

export function exceptionFields(exceptions: readonly ExceptionText[], shownText: ShownText): HTMLElement {
  const before = writeExceptions(exceptions);
  const { field, write } = hiddenField('exceptions', before);
  const list = h('div');
  let shown = splitExceptions(shownText('exceptions') ?? before);
  const change = (index: number, changed: Partial<ExceptionText>): void => {
    shown = shown.map((exception, other) => (other === index ? { ...exception, ...changed } : exception));
    write(writeExceptions(shown));
  };
  const rowOf = ({ date, ranges }: ExceptionText, index: number): HTMLElement => {
    const label = `Exception ${index + 1}`;
    const setDate = ({ currentTarget }: Event) => change(index, { date: (currentTarget as HTMLInputElement).value });
    const picker = { type: 'date', max: '9999-12-31', value: date, 'aria-label': `${label} date`, input: setDate };
    const remove = (): void => redraw(shown.filter((_, other) => other !== index));
    const row = h(
      'div.range',
      h('input', picker),
      button('Remove', remove, { class: 'link', 'aria-label': `Remove exception ${index + 1}` }),
    );
    return group(
      `exceptions-${index}`,
      label,
      row,
      rangePickers(label, ranges, (text) => change(index, { ranges: text })).element,
    );
  };
  const draw = (): void => list.replaceChildren(...shown.map(rowOf));
  const redraw = (changed: ExceptionText[]): void => {
    shown = changed;
    draw();
    write(writeExceptions(shown));
    list.querySelector<HTMLElement>('fieldset:last-child input')?.focus();
  };
  draw();
  const add = (): void => redraw([...shown, { date: '', ranges: '' }]);
  return group('exceptions', 'Exceptions', field, list, button('Add an exception', add));
}
