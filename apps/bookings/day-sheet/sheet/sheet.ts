// Shows one day of a location: toolbar, grid and list. Keeps both up to date with the change feed.
import type { BookingLocation, Me } from '@bay-booking/client';
import { type Day, loadDay, type SheetBooking } from '../day/day.ts';
import { describeError } from '../day/sentences.ts';
import { halfHour, longDate } from '../day/time.ts';
import { announce, button, h, notify } from '../dom.ts';
import { moveBooking, openBooking, openNewBooking } from '../forms/booking-form.ts';
import { type ClosureContext, openClosure } from '../forms/closure-form.ts';
import { showHistory } from '../forms/history.ts';
import { openHours } from '../forms/hours-form.ts';
import type { Draft } from '../sign-in.ts';
import { choices } from './choices.ts';
import { enableDrag } from './drag.ts';
import { createGrid, type Selection } from './grid.ts';
import { createList } from './list.ts';
import { follow } from './live.ts';
import { searchAllDays } from './search.ts';
import { createToolbar } from './toolbar.ts';

export interface SheetOptions {
  readonly me: Me;
  readonly locations: readonly BookingLocation[];
  readonly location: BookingLocation;
  readonly date: string;
  /** What was typed before a sign-in. */
  readonly draft: Draft | undefined;
  readonly go: (locationId: string, date: string) => void;
  /** Loads the day again, and opens the form again that is open now. */
  readonly reload: () => void;
}

/** Shows the day and keeps it up to date until `signal` is aborted. */
export async function showSheet(options: SheetOptions, signal: AbortSignal): Promise<void> {
  const { location, date, draft } = options;
  const { day, position } = await loadDay(location, date);
  // The user already wants to see another day.
  if (signal.aborted) return;
  const sheet = drawSheet(day, options);
  const focused = document.activeElement?.id;
  document.querySelector('main')?.replaceChildren(...sheet.elements);
  if (focused) document.getElementById(focused)?.focus();
  announce(longDate(day));
  sheet.scroll();
  if (draft) sheet.restore(draft);
  void follow(day, position, { ...sheet, reload: options.reload }, signal);
  addEventListener('beforeprint', sheet.preparePrint, { signal });
}

function drawSheet(day: Day, { me, locations, go, location }: SheetOptions) {
  const may = (scope: string): boolean => me.scopes.some((granted) => granted.endsWith(scope));
  const [mayWrite, mayClose] = [may('/golf/bookings'), may('/golf/schedule')];

  const contextNow = (): ClosureContext => ({
    day,
    mayWrite: mayWrite && !choices.locked,
    mayClose: mayClose && !choices.locked,
    subject: me.subject,
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
  const list = createList(
    day,
    (booking) => openBooking(contextNow(), booking),
    (closure) => openClosure(contextNow(), closure),
  );

  /** A list that nobody sees is not drawn. */
  const drawList = (): void => {
    if (choices.view === 'list') list.draw(choices.filter);
  };

  function updateSchedule(): void {
    grid.updateSchedule();
    drawList();
  }

  function drawBookings(ids: readonly string[]): void {
    ids.forEach(grid.update);
    drawList();
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

  const report = async (error: unknown): Promise<void> =>
    notify((await describeError(error, day)).map(({ text }) => text).join(' '));
  const editing = [
    mayWrite && button('New booking', newBooking, { class: 'primary' }),
    mayClose && button('Close bays', closeBays),
    mayClose && button('Opening hours', () => openHours(day, day.hours)),
  ].filter((control) => control !== false);
  const toolbar = createToolbar(day, locations, me, editing, {
    go,
    filter: () => {
      grid.setFilter(choices.filter);
      drawList();
    },
    showBay: (index) => {
      choices.bay = index;
      grid.showBay(index);
    },
    setView: (view) => {
      choices.view = view;
      drawList();
      list.element.hidden = view !== 'list';
      grid.element.hidden = view !== 'grid';
    },
    lock: () => grid.element.classList.toggle('locked', !contextNow().mayWrite),
    searchAllDays: () => void searchAllDays(choices.filter.trim(), day, contextNow, go).catch(report),
    showChanges: () => void showHistory(day, me.subject).catch(report),
  });
  const status = h('output', { class: 'status' }, 'Live');
  const heading = h('div', { class: 'heading' }, h('h1', {}, longDate(day)), h('p', {}, `${location.name} · `, status));
  grid.setFilter(choices.filter);

  return {
    elements: [heading, toolbar, grid.element, list.element],
    drawBookings,
    preparePrint: grid.preparePrint,
    updateSchedule,
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
    restore: (draft: Draft): void => {
      const { kind, context } = draft;
      const now = contextNow();
      if (kind === 'new') openNewBooking(now, context as Parameters<typeof openNewBooking>[1], draft);
      if (kind === 'booking') openBooking(now, context as SheetBooking, draft);
      if (kind === 'closure') openClosure(now, context as Parameters<typeof openClosure>[1], draft);
      if (kind === 'hours') openHours(day, context as Parameters<typeof openHours>[1], draft);
    },
  };
}
