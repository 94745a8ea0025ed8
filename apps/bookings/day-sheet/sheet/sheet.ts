// Shows one day of a location: toolbar, grid and list. Keeps both up to date with the change feed.
import type { BookingLocation, Me } from '@bay-booking/client';
import { backgroundClient, client, isConnectionProblem, onConnection } from '../api.ts';
import { applyBooking, applyChange, type Day, loadDay, refreshSchedule, type SheetBooking } from '../day/day.ts';
import { describeError, timesOf } from '../day/sentences.ts';
import { addDays, clockAt, dateAt, halfHour, longDate, readDate } from '../day/time.ts';
import { button, h, notify } from '../dom.ts';
import { moveBooking, openBooking, openNewBooking } from '../forms/booking-form.ts';
import { type ClosureContext, openClosure } from '../forms/closure-form.ts';
import { openForm } from '../forms/form.ts';
import { showHistory } from '../forms/history.ts';
import { openHours } from '../forms/hours-form.ts';
import type { Draft } from '../sign-in.ts';
import { enableDrag } from './drag.ts';
import { createGrid, type Selection } from './grid.ts';
import { createList } from './list.ts';

export interface SheetOptions {
  readonly me: Me;
  readonly locations: readonly BookingLocation[];
  readonly location: BookingLocation;
  readonly date: string;
  /** What was typed before a sign-in. */
  readonly draft: Draft | undefined;
  readonly go: (locationId: string, date: string) => void;
}

const refreshMs = 30_000;
const refreshWhileOfflineMs = 2_000;
const main = () => document.querySelector('main') as HTMLElement;

/** What the user has chosen stays when the day changes, and in this tab also after a sign-in. */
const choices = {
  view: 'grid' as 'grid' | 'list',
  locked: false,
  filter: '',
  bay: 0,
  scroll: [0, 0] as [number, number],
};
const storageKey = 'day-sheet-choices';
Object.assign(choices, JSON.parse(sessionStorage.getItem(storageKey) ?? '{}'));
addEventListener('pagehide', () => {
  const sheet = document.querySelector('.sheet');
  sessionStorage.setItem(
    storageKey,
    JSON.stringify({ ...choices, scroll: [sheet?.scrollLeft ?? 0, sheet?.scrollTop ?? 0] }),
  );
});

/** Shows the day. Returns a function that ends the updates. */
export async function showSheet(options: SheetOptions): Promise<() => void> {
  const { location, date, draft } = options;
  const { day, position } = await loadDay(location, date);
  const stopping = new AbortController();
  const sheet = drawSheet(day, options);
  main().replaceChildren(...sheet.elements);
  sheet.scroll();
  if (draft) sheet.restore(draft);
  void follow(day, position, sheet, stopping.signal);
  keepSchedule(day, sheet, stopping.signal);
  addEventListener('beforeprint', sheet.preparePrint, { signal: stopping.signal });
  return () => stopping.abort();
}

type Sheet = ReturnType<typeof drawSheet>;

function drawSheet(day: Day, { me, locations, go, location, date }: SheetOptions) {
  const may = (scope: string): boolean => me.scopes.some((granted) => granted.endsWith(scope));
  const [mayWrite, mayClose] = [may('/golf/bookings'), may('/golf/schedule')];

  const onSaved = (id: string, booking: SheetBooking | undefined): void => {
    if (applyBooking(day, id, booking)) drawBooking(id);
  };
  const contextNow = (): ClosureContext => ({
    day,
    onSaved,
    mayWrite: mayWrite && !choices.locked,
    mayClose: mayClose && !choices.locked,
    subject: me.subject,
    onScheduleSaved: async () => {
      if (await refreshSchedule(day)) grid.updateSchedule();
    },
  });

  const openEmpty = ({ bay, lastBay, row, lastRow }: Selection): void => {
    if (!contextNow().mayWrite) {
      notify(choices.locked ? 'The sheet is locked.' : 'Your account may not book here.');
      return;
    }
    const bayIds = day.bays.slice(bay, lastBay + 1).map(({ id }) => id);
    openNewBooking(contextNow(), { bayIds, start: grid.timeOfRow(row), end: grid.timeOfRow(lastRow + 1) });
  };
  const grid = createGrid(day, {
    openBooking: (booking) => openBooking(contextNow(), booking),
    openClosure: (closure) => openClosure(contextNow(), closure),
    openEmpty,
  });
  enableDrag(grid, {
    mayDrag: () => contextNow().mayWrite,
    select: openEmpty,
    move: (booking, bayId, start, end) => {
      const times = { startDate: new Date(start).toISOString(), endDate: new Date(end).toISOString() };
      moveBooking(contextNow(), booking, { bayId, userAlias: booking.userAlias, ...times });
    },
  });
  const list = createList(day, (booking) => openBooking(contextNow(), booking));

  function drawBooking(id: string): void {
    grid.update(id);
    if (choices.view === 'list') list.draw(choices.filter);
  }

  /** The next full half hour of today, or 12:00 of another day. */
  const nextTime = (): number => {
    const now = Math.ceil(Date.now() / halfHour) * halfHour;
    return now >= day.start && now < day.end ? now : day.start + 24 * halfHour;
  };
  const closeBays = (): void => {
    const [startDate, endDate] = [nextTime(), nextTime() + 4 * halfHour].map((time) => new Date(time).toISOString());
    openClosure(contextNow(), { bayIds: [], startDate: startDate ?? '', endDate: endDate ?? '' });
  };
  const newBooking = (): void => {
    const bayIds = day.bays.slice(choices.bay, choices.bay + 1).map(({ id }) => id);
    openNewBooking(contextNow(), { bayIds, start: nextTime(), end: nextTime() + 2 * halfHour });
  };

  function setView(view: typeof choices.view): void {
    choices.view = view;
    list.draw(choices.filter);
    list.element.hidden = view !== 'list';
    grid.element.hidden = view !== 'grid';
    viewButton.textContent = view === 'grid' ? 'List' : 'Grid';
  }
  const viewButton = button('List', () => setView(choices.view === 'grid' ? 'list' : 'grid'));

  const search = h('input', {
    id: 'search',
    type: 'search',
    autocomplete: 'off',
    placeholder: 'Name or reference',
    value: choices.filter,
    input: () => {
      choices.filter = search.value;
      grid.setFilter(search.value);
      list.draw(search.value);
    },
  });
  const selectLocation = h(
    'select',
    { id: 'location', change: () => go(selectLocation.value, date) },
    ...optionsOf(locations, location, me),
  );
  const selectDate = h('input', {
    id: 'date',
    type: 'date',
    value: date,
    change: () => readDate(selectDate.value) && go(location.id, selectDate.value),
  });
  const selectBay = h(
    'select',
    {
      id: 'bay',
      change: () => {
        choices.bay = selectBay.selectedIndex;
        grid.showBay(choices.bay);
      },
    },
    ...day.bays.map(({ name }) => h('option', {}, name)),
  );
  selectBay.selectedIndex = Math.min(choices.bay, day.bays.length - 1);
  grid.showBay(selectBay.selectedIndex);
  const lock = h('input', {
    type: 'checkbox',
    id: 'lock',
    checked: choices.locked,
    change: () => {
      choices.locked = lock.checked;
      showRights();
    },
  });
  const editing = [
    mayWrite && button('New booking', newBooking, { class: 'primary' }),
    mayClose && button('Close bays', closeBays),
    mayClose && button('Opening hours', () => void openHours(contextNow()).catch(report)),
  ].filter((control) => control !== false);
  const showRights = (): void => {
    for (const control of editing) control.disabled = choices.locked;
    grid.element.classList.toggle('locked', !contextNow().mayWrite);
  };
  const report = async (error: unknown): Promise<void> =>
    notify((await describeError(error, day)).map(({ text }) => text).join(' '));

  const status = h('output', { class: 'status' }, 'Live');
  const labelled = (text: string, control: HTMLElement, className = '') =>
    h('div', { class: `control ${className}` }, h('label', { for: control.id }, text), control);
  const toolbar = h(
    'div',
    { class: 'toolbar' },
    labelled('Location', selectLocation),
    h(
      'div',
      { class: 'control days' },
      button('‹', () => go(location.id, addDays(date, -1)), { 'aria-label': 'Day before' }),
      button('Today', () => go(location.id, dateAt(Date.now(), day.timeZone))),
      button('›', () => go(location.id, addDays(date, 1)), { 'aria-label': 'Day after' }),
    ),
    labelled('Date', selectDate),
    labelled('Bay', selectBay, 'phone'),
    labelled('Search', search),
    button('Search all days', () => void searchAllDays(day, contextNow, go).catch(report)),
    viewButton,
    button('Changes', () => void showHistory(day, me.subject).catch(report)),
    button('Print', () => print()),
    h('div', { class: 'control lock' }, lock, h('label', { for: 'lock' }, 'Lock the sheet')),
    ...editing,
  );
  const heading = h('div', { class: 'heading' }, h('h1', {}, longDate(day)), h('p', {}, `${location.name} · `, status));
  setView(choices.view);
  grid.setFilter(choices.filter);
  showRights();

  return {
    elements: [heading, toolbar, grid.element, list.element],
    drawBooking,
    preparePrint: grid.preparePrint,
    updateSchedule: grid.updateSchedule,
    showNow: grid.showNow,
    setStatus: (text: string): void => {
      status.textContent = text;
      status.classList.toggle('offline', text !== 'Live');
    },
    /** Scrolls to where the user was before a sign-in, else to some hours before now, or to the morning. */
    scroll: (): void => {
      if (choices.scroll.some((pixels) => pixels > 0)) {
        grid.element.scrollTo(...choices.scroll);
        choices.scroll = [0, 0];
        return;
      }
      const row = Math.max((Math.min(nextTime(), day.start + 36 * halfHour) - day.start) / halfHour - 4, 0);
      const height = grid.element.querySelector('.column')?.clientHeight ?? 0;
      grid.element.scrollTop = (row * height * halfHour) / (day.end - day.start);
    },
    /** Opens the form that was open before a sign-in, with what was typed. */
    restore: ({ kind, context, values }: Draft): void => {
      const now = contextNow();
      if (kind === 'new') openNewBooking(now, context as Parameters<typeof openNewBooking>[1], values);
      if (kind === 'booking') openBooking(now, context as SheetBooking, values);
      if (kind === 'closure') openClosure(now, context as Parameters<typeof openClosure>[1], values);
      if (kind === 'hours') void openHours(now, context as Parameters<typeof openHours>[1], values);
    },
  };
}

/** Groups the locations by facility, if there are several. */
function optionsOf(
  locations: readonly BookingLocation[],
  selected: BookingLocation,
  { facilities }: Me,
): HTMLElement[] {
  const optionOf = ({ id, name }: BookingLocation) => h('option', { value: id, selected: id === selected.id }, name);
  if (facilities.length < 2) return locations.map(optionOf);
  return facilities.map(({ id, name }) =>
    h('optgroup', { label: name }, ...locations.filter(({ facilityId }) => facilityId === id).map(optionOf)),
  );
}

/** Finds the bookings of a name on all days. The API compares the whole name. */
async function searchAllDays(day: Day, contextNow: () => ClosureContext, go: SheetOptions['go']): Promise<void> {
  const userAlias = choices.filter.trim();
  if (!userAlias) return notify('Type the whole name into the field “Search” first.');
  const { data } = await client.request('searchBookings', { query: { userAlias, pageSize: 100 } as never });
  const form = openForm({
    title: `Bookings of ${userAlias}`,
    draft: { kind: 'search', context: null },
    fields: [],
    content: [
      data.items.length === 0 && h('p', {}, 'No booking has exactly this name.'),
      h('ul', { class: 'history' }, ...data.items.map((booking) => h('li', {}, openLink(booking)))),
    ],
    describe: (error) => describeError(error, day),
  });

  function openLink(booking: SheetBooking): HTMLElement {
    const bay = day.bays.find(({ id }) => id === booking.bayId);
    const label = `${timesOf(booking, { ...day, date: '1970-01-01' })}${bay ? `, ${bay.name}` : ''}`;
    const open = async () => {
      if (day.bookings.has(booking.id)) return openBooking(contextNow(), booking);
      const { data: bays } = await client.request('listBookingBays', { query: { ids: [booking.bayId] } as never });
      form.close();
      go(
        bays.items.find(({ id }) => id === booking.bayId)?.locationId ?? day.location.id,
        dateAt(Date.parse(booking.startDate), day.timeZone),
      );
    };
    return button(label, open, { class: 'link' });
  }
}

/** Applies the changes of other programs. After a gap in the feed, the page loads the day again. */
async function follow(day: Day, position: string, sheet: Sheet, signal: AbortSignal): Promise<void> {
  const { facilityId } = day.location;
  while (!signal.aborted) {
    try {
      for await (const page of backgroundClient.changes.follow({ facilityId, from: position, signal })) {
        if (page.startsOver) return location.reload();
        for (const change of page.items) if (applyChange(day, change)) sheet.drawBooking(change.id);
        position = page.next;
      }
    } catch {
      // There is no token while a dialog is open, or auth does not respond.
      sheet.setStatus('Waiting for a new sign-in');
      await new Promise((resolve) => setTimeout(resolve, refreshWhileOfflineMs));
    }
  }
}

/** Reads closures and opening hours again and again, and shows whether the service responds. */
function keepSchedule(day: Day, sheet: Sheet, signal: AbortSignal): void {
  let since: number | undefined;
  const refresh = async (): Promise<void> => {
    try {
      if (await refreshSchedule(day)) sheet.updateSchedule();
      if (since === undefined) sheet.setStatus('Live');
    } catch (error) {
      if (!isConnectionProblem(error)) sheet.setStatus('Waiting for a new sign-in');
    }
    sheet.showNow();
    if (!signal.aborted) setTimeout(refresh, since === undefined ? refreshMs : refreshWhileOfflineMs);
  };
  onConnection((failingSince) => {
    const isFirst = since === undefined && failingSince !== undefined;
    since = failingSince;
    sheet.setStatus(since === undefined ? 'Live' : `No connection since ${clockAt(since, day.timeZone)}`);
    if (isFirst) setTimeout(refresh, refreshWhileOfflineMs);
  }, signal);
  setTimeout(refresh, refreshMs);
}
