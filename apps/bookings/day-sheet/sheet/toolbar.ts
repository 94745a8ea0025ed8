// Builds the toolbar of the sheet and remembers what the user has chosen there, also after a sign-in or a reload of the
// same tab.
import type { BookingLocation, Me } from '@bay-booking/client';
import { type Day, inOrder, matches } from '../day/day.ts';
import { addDays, dateAt, firstDate, readDate } from '../day/time.ts';
import { announce, button, h, labelled } from '../dom.ts';

const initial = {
  view: 'grid' as 'grid' | 'list' | 'now',
  locked: false,
  filter: '',
  bay: 0,
  /** Whose choices these are. */
  subject: '',
  /** The facilities where the user has every right. */
  ownFacilities: [] as readonly string[],
  /** Set when the user asked for other facilities and there were none. */
  hasNoOthers: false,
  /** The scroll position of the sheet that was shown last, and the query of its page. */
  scroll: { search: '', left: 0, top: 0 },
};
export const choices = { ...initial };
const storageKey = 'day-sheet-choices';
Object.assign(choices, JSON.parse(sessionStorage.getItem(storageKey) ?? '{}'));
addEventListener('pagehide', () => {
  rememberScroll();
  sessionStorage.setItem(storageKey, JSON.stringify(choices));
});

/** Makes the next sheet of the same day scroll to where this one is. */
export function rememberScroll(): void {
  const sheet = document.querySelector('.sheet');
  choices.scroll = { search: location.search, left: sheet?.scrollLeft ?? 0, top: sheet?.scrollTop ?? 0 };
}

/** The next person at this device must not see the names that somebody has searched for. */
export const forgetChoices = (subject = ''): void => {
  if (subject !== choices.subject) Object.assign(choices, initial, { subject });
};

interface ToolbarActions {
  readonly go: (locationId: string, date: string) => void;
  /** Shows the day as `choices` says. */
  readonly showChoices: () => void;
  readonly scrollToNow: () => void;
  readonly searchAllDays: () => void;
  readonly showChanges: () => void;
  readonly showUsage: () => void;
}

/** `walkIn` and `editing` are the buttons that change something. A locked sheet disables them. */
export function createToolbar(
  day: Day,
  locations: readonly BookingLocation[],
  me: Me,
  { walkIn, editing }: { readonly walkIn: HTMLButtonElement | false; readonly editing: readonly HTMLButtonElement[] },
  actions: ToolbarActions,
) {
  const { location, date } = day;
  const { go } = actions;
  const isToday = () => date === dateAt(Date.now(), day.timeZone);
  const choose = (change: Partial<typeof choices>): void => {
    Object.assign(choices, change);
    viewButton.textContent = choices.view === 'grid' ? 'List' : 'Grid';
    nowButton.ariaPressed = String(choices.view === 'now');
    for (const control of [walkIn, ...editing]) if (control) control.disabled = choices.locked;
    actions.showChoices();
  };
  const mayClose = me.scopes.some((scope) => scope.endsWith('/golf/schedule'));
  const search = h('input', {
    id: 'search',
    type: 'search',
    autocomplete: 'off',
    placeholder: 'Name, phone, note',
    value: choices.filter,
    input: () => {
      const count = showFound();
      if (search.value.trim()) announce(count === 1 ? '1 booking found' : `${count} bookings found`);
    },
  });
  /** Dims what does not match and shows the first match, which can be outside of the window or in a hidden bay. */
  function showFound(): number {
    const found = search.value.trim() ? inOrder(day).filter((booking) => matches(booking, search.value)) : [];
    const [first] = found;
    if (first) selectBay.selectedIndex = day.bays.findIndex(({ id }) => id === first.bayId);
    choose({ filter: search.value, bay: selectBay.selectedIndex });
    if (first)
      document
        .querySelector('.sheet:not([hidden]) .current .booking:not(.filtered), .list:not([hidden]) .found')
        ?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    return found.length;
  }
  const selectLocation = h(
    'select',
    { id: 'location', change: () => go(selectLocation.value, date) },
    ...optionsOf(locations, location, me),
    // Where the user may only book, a token for closing bays has no access.
    mayClose && !choices.hasNoOthers && h('option', { value: '' }, 'Other facilities…'),
  );
  const selectDate = h('input', {
    id: 'date',
    type: 'date',
    value: date,
    min: firstDate,
    change: () => isTypingDate || showDate(),
    keydown: ({ key, altKey }: KeyboardEvent) => {
      isTypingDate = key !== ' ' && !altKey;
      if (key === 'Enter') showDate();
    },
    blur: () => isTypingDate && showDate(),
  });
  // A typed date has several values before it is complete, and drawing the day again would interrupt the typing.
  let isTypingDate = false;
  const showDate = (): void => {
    isTypingDate = false;
    if (readDate(selectDate.value) && selectDate.value !== date) go(location.id, selectDate.value);
  };
  const selectBay = h(
    'select',
    { id: 'bay', 'aria-label': 'Bay', change: () => choose({ bay: selectBay.selectedIndex }) },
    ...day.bays.map(({ name, bookable }, index) =>
      h('option', { selected: index === choices.bay }, bookable ? name : `${name}, not bookable`),
    ),
  );
  const lock = h('input', {
    type: 'checkbox',
    id: 'lock',
    checked: choices.locked,
    change: () => choose({ locked: lock.checked }),
  });
  const viewButton = button('', () => choose({ view: choices.view === 'grid' ? 'list' : 'grid' }));
  const goToday = () => go(location.id, dateAt(Date.now(), day.timeZone));
  const nowButton = button(
    'Now',
    () => {
      choose({ view: choices.view === 'now' ? 'grid' : 'now' });
      if (!isToday()) goToday();
    },
    { id: 'now' },
  );
  // On a phone, these controls are a menu. On a wider window they are visible without it.
  const others = h(
    'div.others',
    {
      id: 'others',
      popover: 'auto',
      click: ({ target }: MouseEvent) => target instanceof HTMLButtonElement && others.hidePopover(),
    },
    labelled('Location', selectLocation),
    h(
      'div.control.days',
      button('‹', () => go(location.id, addDays(date, -1)), { id: 'day-before', 'aria-label': 'Day before' }),
      button('Today', () => (isToday() ? actions.scrollToNow() : goToday()), { id: 'today' }),
      button('›', () => go(location.id, addDays(date, 1)), { id: 'day-after', 'aria-label': 'Day after' }),
    ),
    labelled('Search', search),
    button('Search all days', actions.searchAllDays),
    viewButton,
    button('Changes', actions.showChanges),
    button('Usage', actions.showUsage),
    button('Print', () => print()),
    h('div.control.lock', lock, h('label', { for: 'lock' }, 'Lock the sheet')),
    ...editing,
  );
  const more = button('More', () => {}, { id: 'more', class: 'phone', popovertarget: others.id });

  const view = choices.view === 'now' && !isToday() ? 'grid' : choices.view;
  choose({ view, bay: Math.max(selectBay.selectedIndex, 0) });
  return {
    element: h('div.toolbar', walkIn, labelled('Date', selectDate), nowButton, more, others),
    selectBay,
    showFound,
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
