// Tests the day sheet, the page /day of bookings, in Chromium: what its users see and do, and what the page must not
// do.
import { isDeepStrictEqual } from 'node:util';
import {
  findViolations,
  type Locator,
  overflowsHorizontally,
  type Page,
  saveScreenshot,
} from '@bay-booking/testkit/browser';
import { afterEach, expect, test } from '@jest/globals';
import { describeInChromium } from './support/browser-system.ts';
import { allow, signIn, useDaySheet } from './support/day-sheet-system.ts';
import { eventually } from './support/wait.ts';

// Each test has a day of its own, so tests do not see the bookings of others. The days are in the future and in winter.
let days = 0;
const nextYear = new Date().getFullYear() + 1;
const nextDay = (): string => new Date(Date.UTC(nextYear, 0, 4 + days++)).toISOString().slice(0, 10);
const at = (date: string, time: string): string => `${date}T${time}:00+01:00`;
const queryOf = (date: string, location = 'loc-north-1'): string => `?location=${location}&date=${date}`;

const booking = (page: Page, name: string) => page.locator('.booking', { hasText: name });
const namesOf = async (page: Page, name: string) => {
  const bookings = await booking(page, name).all();
  return Promise.all(bookings.map((one) => one.getAttribute('aria-label')));
};
/** The feed takes less than 2 s if the machine is idle. The page reads the rest of the day only every 45 s. */
const feedMs = 15_000;

/** Waits, because a saved change can appear after the message that it was saved. */
async function expectNames(page: Page, name: string, expected: readonly string[]): Promise<void> {
  const sorted = async () => (await namesOf(page, name)).toSorted();
  await eventually(async () => isDeepStrictEqual(await sorted(), expected), 10_000).catch(() => {});
  expect(await sorted()).toEqual(expected);
}
const dialog = (page: Page) => page.getByRole('dialog');
/** Waits until a form is closed and the focus is back. A saved form closes only when the sheet shows the change. */
const closed = (page: Page) => page.locator('dialog').waitFor({ state: 'detached' });
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const toast = (page: Page) => page.locator('.toast span');
const check = (page: Page, bay: string, checked = true) =>
  dialog(page).getByRole('checkbox', { name: bay, exact: true }).setChecked(checked);

async function fill(page: Page, values: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(values))
    await dialog(page).getByLabel(label, { exact: true }).fill(value);
}

/** Drags from a bay and an hour to another bay and hour. Leaves the button of the mouse down. */
async function drag(page: Page, from: readonly [string, number], to: readonly [string, number]): Promise<void> {
  const pointOf = async ([bay, hour]: readonly [string, number]) => {
    const box = await page.locator(`.column[data-bay="${bay}"]`).boundingBox();
    if (!box) throw new Error(`no column of ${bay}`);
    return { x: box.x + 20, y: box.y + (box.height * hour) / 24 };
  };
  await closed(page);
  const [start, end] = [await pointOf(from), await pointOf(to)];
  await page.mouse.move(start.x, start.y);
  await page.mouse.down();
  await page.mouse.move(end.x, end.y, { steps: 4 });
}

/** A tall window shows the whole day, so no test has to scroll. */
const tall = { viewport: { width: 1280, height: 1_700 } };

const phone = { viewport: { width: 390, height: 1_400 }, hasTouch: true, isMobile: true };

interface Box {
  readonly x: number;
  readonly y: number;
}

/** Shows the begin of the day. Returns where a booking is. */
async function scrollToTop(page: Page, name: string): Promise<Box> {
  await page.evaluate(`document.querySelector('.sheet').scrollTo(0, 0)`);
  const box = await booking(page, name).boundingBox();
  if (!box) throw new Error(`no booking of ${name}`);
  return box;
}

/** Returns a function that touches a booking. `down` is the way of the finger in pixels. */
async function createFinger(page: Page) {
  const devtools = await page.context().newCDPSession(page);
  return (type: 'touchStart' | 'touchMove' | 'touchEnd', { x, y }: Box = { x: 0, y: 0 }, down = 0) => {
    const touchPoints = type === 'touchEnd' ? [] : [{ x: x + 40, y: y + 10 + down }];
    return devtools.send('Input.dispatchTouchEvent', { type, touchPoints });
  };
}

describeInChromium('the day sheet', () => {
  const system = useDaySheet();
  afterEach(() => system.closePages());
  const book = (date: string, bayId: string, userAlias: string, from: string, to: string, more: object = {}) =>
    system.call('POST', '/api/bookings', {
      bayId,
      userAlias,
      startDate: at(date, from),
      endDate: at(date, to),
      ...more,
    });

  test('the page keeps no token, talks only to both services, and a reload signs in again without a prompt', async () => {
    const date = nextDay();
    const name = '<img src=x onerror=alert(1)>';
    await book(date, 'bay-n1-01', name, '10:00', '11:00');
    const page = await system.open(queryOf(date));
    const requests: { url: string; token: string | undefined }[] = [];
    const errors: string[] = [];
    page.on('request', (request) => requests.push({ url: request.url(), token: request.headers().authorization }));
    page.on('console', (message) => errors.push(message.text()));
    page.on('dialog', (shown) => errors.push(shown.message()));
    await page.reload();
    await booking(page, name).waitFor();
    expect(page.url()).toBe(`${system.base}/day${queryOf(date)}`);
    expect(new Set(requests.map(({ url }) => new URL(url).origin))).toEqual(new Set([system.base, system.issuer]));
    // The page before the reload may still have sent a request with its own token.
    const tokens = new Set(requests.flatMap(({ token }) => token?.slice(7) ?? []));
    expect(tokens.size).toBeGreaterThan(0);
    const stored = JSON.stringify([
      await page.evaluate('[{ ...localStorage }, { ...sessionStorage }, document.cookie]'),
      requests.map(({ url }) => url),
      system.bookings.log(),
    ]);
    for (const token of tokens) expect(stored).not.toContain(token.split('.')[2]);
    expect(errors).toEqual([]);
    const { headers } = await fetch(`${system.base}/day`);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).not.toContain('unsafe');
    expect(/connect-src ([^;]*)/.exec(policy)?.[1]).toBe(`'self' ${system.base} ${system.issuer}`);
  }, 60_000);

  test('the day has bays in natural order, a row for each half hour, closures, hours and bookings over midnight', async () => {
    const [before, date] = [nextDay(), nextDay()];
    const late = { startDate: at(before, '23:30'), endDate: at(date, '00:30') };
    await system.call('POST', '/api/bookings', { bayId: 'bay-n1-02', userAlias: 'Owl', ...late });
    const times = { startDate: at(date, '09:00'), endDate: at(date, '12:00') };
    await system.call('POST', '/api/booking-closures', { bayIds: ['bay-n1-05'], reason: 'Net torn', ...times });
    const hours = { weekly: {}, exceptions: [{ date, hours: [{ opens: '00:00', closes: '22:00' }] }] };
    const path = '/api/booking-locations/loc-north-1/opening-hours';
    await system.call('PUT', path, hours);
    const page = await system.open(queryOf(date));
    const bays = await page.locator('.bay-name > span').allTextContents();
    expect(bays.slice(0, 11)).toEqual(
      ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '99'].map((id) => `Bay ${id}`),
    );
    await expectTimes(48);
    expect(await namesOf(page, 'Owl')).toHaveLength(1);
    expect(await page.locator('.closure').allTextContents()).toEqual(['Net torn']);
    expect(await page.locator('.column').first().locator('.closed').count()).toBe(1);
    await system.call('DELETE', path);
    await page.goto(`${system.base}/day${queryOf(before)}`);
    await booking(page, 'Owl').waitFor();
    for (const [change, rows] of [
      ['2027-03-28', 46],
      ['2027-10-31', 50],
    ] as const) {
      await page.goto(`${system.base}/day${queryOf(change)}`);
      await page.getByRole('heading', { name: change.endsWith('28') ? '28 March' : '31 October' }).waitFor();
      await expectTimes(rows);
    }

    async function expectTimes(rows: number): Promise<void> {
      expect(await page.locator('.times span').count()).toBe(rows);
    }
  }, 60_000);

  test('somebody books, moves, lengthens, undoes and cancels, and reads who did it', async () => {
    const date = nextDay();
    await book(date, 'bay-n1-03', 'Ada', '18:00', '19:00');
    const page = await system.open(queryOf(date), tall);
    await drag(page, ['bay-n1-03', 17.1], ['bay-n1-03', 18.2]);
    await page.mouse.up();
    await fill(page, { Name: 'Bob' });
    await press(page, 'Book');
    await page.getByText('Bay 3 is booked from 18:00 by Ada.').waitFor();
    await fill(page, { To: `${date}T18:00`, 'Reference (optional)': `B-${date}` });
    await press(page, 'Book');
    await booking(page, 'Bob').waitFor();
    await expectNames(page, 'Bob', [`Bob 17:00–18:00 B-${date}, Bay 3`]);

    await drag(page, ['bay-n1-03', 18.2], ['bay-n1-04', 19.2]);
    await page.mouse.up();
    await toast(page).filter({ hasText: 'Moved to Bay 4, 19:00–20:00.' }).waitFor();
    await press(page, 'Undo');
    await page.locator('.column[data-bay="bay-n1-03"] .booking', { hasText: 'Ada' }).waitFor();
    await expectNames(page, 'Ada', ['Ada 18:00–19:00, Bay 3']);
    await drag(page, ['bay-n1-03', 18.95], ['bay-n1-03', 19.8]);
    await page.mouse.up();
    await toast(page).filter({ hasText: 'Lengthened: Bay 3, 18:00–20:00.' }).waitFor();

    await booking(page, 'Ada').click();
    await press(page, 'Cancel booking');
    await press(page, 'Yes, cancel');
    await toast(page).filter({ hasText: 'The booking of Ada was cancelled.' }).waitFor();
    await expectNames(page, 'Ada', []);
    await press(page, 'Changes');
    await page.locator('.history li').first().waitFor();
    const history = await page.locator('.history li').allTextContents();
    expect(history[0]).toMatch(/^Cancelled by you.*Ada, Bay 3, 18:00–20:00$/);
    expect(history.at(-1)).toMatch(/^Booked by acc-manager-north with demo-pat-north-manage.*Ada/);
  }, 60_000);

  test('bookings of several bays are a party, and a change is for one of them or for all', async () => {
    const date = nextDay();
    const page = await system.open(queryOf(date), tall);
    await drag(page, ['bay-n1-06', 14.1], ['bay-n1-07', 14.9]);
    await page.mouse.up();
    await fill(page, { Name: 'Party' });
    await press(page, 'Book');
    await toast(page).filter({ hasText: '2 bookings were made.' }).waitFor();
    await drag(page, ['bay-n1-06', 14.2], ['bay-n1-07', 15.2]);
    await page.mouse.up();
    await press(page, 'All of the party');
    await toast(page).filter({ hasText: 'Moved to Bay 7, 15:00–16:00, with all of the party.' }).waitFor();
    await expectNames(page, 'Party', ['Party 15:00–16:00 group, Bay 7', 'Party 15:00–16:00 group, Bay 8']);
    await booking(page, 'Party').first().click();
    await fill(page, { Name: 'Party of one' });
    await press(page, 'Save');
    await booking(page, 'Party of one').waitFor();
    expect(await namesOf(page, 'Party')).toHaveLength(2);
    expect(await namesOf(page, 'Party of one')).toHaveLength(1);
  }, 60_000);

  test('in the hour that occurs twice every time carries its zone, and a skipped time means the next one', async () => {
    const page = await system.open(queryOf('2027-10-31'), tall);
    const labels = await page.locator('.times span').allTextContents();
    expect(labels.slice(3, 9)).toEqual(['01:30', '02:00 CEST', '02:30 CEST', '02:00 CET', '02:30 CET', '03:00']);
    await page.setViewportSize({ width: 768, height: 1_700 });
    expect(
      await page.evaluate(`[...document.querySelectorAll('.times span')].some((s) => s.scrollWidth > s.clientWidth)`),
    ).toBe(false);
    await page.setViewportSize(tall.viewport);
    await page.locator('.column[data-bay="bay-n1-02"]').click({ position: { x: 20, y: 6 * 28 + 5 } });
    await fill(page, { Name: 'Twice', 'Repeat weekly: number of weeks': '2' });
    await press(page, 'Check the dates');
    await press(page, 'Book all 2');
    await expectNames(page, 'Twice', ['Twice 02:00 CET–03:00 group, Bay 2']);
    await booking(page, 'Twice').click();
    expect(await dialog(page).getByLabel('Zone of the start').locator('option').allTextContents()).toEqual([
      '02:00 CEST',
      '02:00 CET',
    ]);
    await dialog(page).getByLabel('Zone of the start').selectOption('02:00 CEST');
    await press(page, 'Save');
    await expectNames(page, 'Twice', ['Twice 02:00 CEST–03:00 group, Bay 2']);

    const times = ['23T16', '30T16', '06T17'].map((time, month) => `2027-${month < 2 ? 10 : 11}-${time}:00:00Z`);
    const series = times.map((startDate) => {
      const endDate = startDate.replace(':00:00Z', ':30:00Z');
      return { bayId: 'bay-n1-09', userAlias: ' Series  X ', startDate, endDate };
    });
    await system.call('POST', '/api/booking-groups', { bookings: series });
    await page.goto(`${system.base}/day${queryOf('2027-10-30')}`);
    await booking(page, 'Series').click();
    await fill(page, { From: '2027-10-31T18:00', To: '2027-10-31T18:30' });
    await dialog(page).getByLabel('Apply to').selectOption('all of the party');
    await press(page, 'Save');
    await toast(page).filter({ hasText: 'Saved.' }).waitFor();
    const { items } = await system.call<{ items: { startDate: string; userAlias: string }[] }>(
      'GET',
      '/api/bookings?bayIds=bay-n1-09&startDate=2027-10-01T00:00Z&endDate=2027-12-01T00:00Z',
    );
    expect(items.map(({ startDate }) => startDate.slice(5, 16))).toEqual(['10-24T16:00', '10-31T17:00', '11-07T17:00']);
    expect(items[0]?.userAlias).toBe(' Series  X ');

    await page.goto(`${system.base}/day${queryOf('2027-03-28')}`);
    await press(page, 'New booking');
    await fill(page, { Name: 'Skipped', From: '2027-03-28T02:15', To: '2027-03-28T02:45' });
    await press(page, 'Book');
    await page.getByText('The clocks skip this time, so no time remains').waitFor();
    expect(await dialog(page).getByLabel('To', { exact: true }).getAttribute('aria-invalid')).toBe('true');
    await fill(page, { To: '2027-03-28T03:30' });
    await press(page, 'Book');
    await expectNames(page, 'Skipped', ['Skipped 03:00–03:30, Bay 1']);
    await press(page, 'New booking');
    expect(await dialog(page).getByRole('checkbox').count()).toBe(10);
  }, 120_000);

  test('a weekly series lists its conflicts before anything is saved, and is then saved whole', async () => {
    const date = nextDay();
    const page = await system.open(queryOf(date));
    const inAWeek = new Date(Date.parse(date) + 7 * 86_400_000).toISOString().slice(0, 10);
    await book(inAWeek, 'bay-n1-10', 'Blocker', '10:00', '11:00');
    await press(page, 'New booking');
    await check(page, 'Bay 1', false);
    await check(page, 'Bay 10');
    await fill(page, {
      Name: 'Series',
      From: `${date}T10:30`,
      To: `${date}T11:30`,
      'Repeat weekly: number of weeks': '3',
    });
    await press(page, 'Check the dates');
    await page.getByText('Not free: 1 of 3 times. Nothing was saved.').waitFor();
    expect(await page.locator('.dates .conflict').allTextContents()).toEqual([
      expect.stringContaining('Bay 10 is booked from 10:00 by Blocker.'),
    ]);
    const search = `/api/bookings?userAlias=Series`;
    const expectTotal = async (total: number) =>
      expect((await system.call<{ total: number }>('GET', search)).total).toBe(total);
    await expectTotal(0);
    await press(page, 'Book the other 2 times');
    await toast(page).filter({ hasText: '2 bookings were made.' }).waitFor();
    await expectTotal(2);
    await press(page, 'New booking');
    await check(page, 'Bay 2');
    await fill(page, { Name: 'Series', 'Repeat weekly: number of weeks': '2' });
    await press(page, 'Check the dates');
    await page.getByText('All are free: 4 times on 2 dates. Nothing is saved yet.').waitFor();
    await press(page, 'Book all 4');
    await toast(page).filter({ hasText: '4 bookings were made.' }).waitFor();
    await expectTotal(6);
  }, 60_000);

  test('a second save keeps what the other person has changed, and a refused party names the bay in the way', async () => {
    const date = nextDay();
    const { id } = await book(date, 'bay-n1-01', 'Ada', '10:00', '11:00');
    const page = await system.open(queryOf(date), tall);
    await booking(page, 'Ada').click();
    const body = { userAlias: 'Ada', startDate: at(date, '10:00'), endDate: at(date, '11:00') };
    await system.call('PUT', `/api/bookings/${id}`, { ...body, bayId: 'bay-n1-04' });
    await fill(page, { Name: 'Ada L.' });
    await press(page, 'Save');
    await page.getByText('the bay from Bay 1 to Bay 4. Your change was not saved.').waitFor();
    await press(page, 'Save');
    await booking(page, 'Ada L.').waitFor();
    await expectNames(page, 'Ada', ['Ada L. 10:00–11:00, Bay 4']);

    const times = { startDate: at(date, '14:00'), endDate: at(date, '15:00') };
    const bookings = ['bay-n1-06', 'bay-n1-07'].map((bayId) => ({ bayId, userAlias: 'Party', ...times }));
    await system.call('POST', '/api/booking-groups', { bookings });
    await book(date, 'bay-n1-07', 'Blocker', '15:00', '16:00');
    await booking(page, 'Blocker').waitFor();
    await drag(page, ['bay-n1-06', 14.2], ['bay-n1-06', 15.2]);
    await page.mouse.up();
    await press(page, 'All of the party');
    await page.getByText('Bay 7 is booked from 15:00 by Blocker.').waitFor();
    await page.keyboard.press('Escape');
    expect(await namesOf(page, 'Party')).toHaveLength(2);
  }, 60_000);

  test('two people drag the same booking: one wins, and the other sees the truth and what has changed', async () => {
    const date = nextDay();
    await book(date, 'bay-n1-01', 'Contested', '10:00', '11:00');
    const pages = await Promise.all([
      system.open(queryOf(date), tall),
      system.open(queryOf(date), { ...tall, username: 'both@example.com' }),
    ]);
    await Promise.all(pages.map((page, index) => drag(page, ['bay-n1-01', 10.2], [`bay-n1-0${index + 3}`, 10.2])));
    await Promise.all(pages.map((page) => page.mouse.up()));
    const toasts = await Promise.all(pages.map((page) => page.locator('.toast span, .rejection p').textContent()));
    const [winner, loser] = toasts.toSorted((a, b) => Number(b?.startsWith('Moved')) - Number(a?.startsWith('Moved')));
    const bay = /^Moved to (Bay [34]), 10:00–11:00\.$/.exec(winner ?? '')?.[1];
    expect(loser).toBe(
      `Someone else changed the booking of Contested (Bay 1, 10:00): the bay from Bay 1 to ${bay}. Your change was not saved.`,
    );
    for (const page of pages) await expectNames(page, 'Contested', [`Contested 10:00–11:00, ${bay}`]);
  }, 60_000);

  test('an undo does not overwrite the change of another person, and says what it was', async () => {
    const date = nextDay();
    const { id } = await book(date, 'bay-n1-01', 'Undone', '10:00', '11:00');
    const page = await system.open(queryOf(date), tall);
    await drag(page, ['bay-n1-01', 10.2], ['bay-n1-02', 10.2]);
    await page.mouse.up();
    await toast(page).filter({ hasText: 'Moved to Bay 2' }).waitFor();
    const times = { startDate: at(date, '10:00'), endDate: at(date, '11:00') };
    await system.call('PUT', `/api/bookings/${id}`, { bayId: 'bay-n1-02', userAlias: 'Renamed', ...times });
    await press(page, 'Undo');
    await page
      .getByText('Someone else changed the booking of Undone (Bay 2, 10:00): the name from Undone to Renamed.')
      .first()
      .waitFor();
    expect(await namesOf(page, 'Renamed')).toEqual(['Renamed 10:00–11:00, Bay 2']);
  }, 60_000);

  test('the keyboard alone is enough for everything, and the grid is one tab stop', async () => {
    const date = nextDay();
    await book(date, 'bay-n1-05', 'First', '10:00', '10:15');
    await book(date, 'bay-n1-05', 'Second', '10:15', '10:30');
    const page = await system.open(queryOf(date));
    const type = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const times = (key: string, count: number) => Array<string>(count).fill(key);
    const tabTo = async (target: Locator, key = 'Tab') => {
      for (let stops = 0; (await target.and(page.locator(':focus')).count()) === 0; stops += 1) {
        if (stops > 60) throw new Error(`no tab stop: ${target}`);
        await type(key);
      }
    };
    const named = (name: string) => page.getByRole('button', { name, exact: true });
    const [sheet, announced] = [page.locator('.sheet'), page.locator('#announcements')];

    await tabTo(sheet);
    await type('Tab');
    expect(await page.locator('.sheet :focus').count()).toBe(0);
    await type('Shift+Tab', 'ArrowRight', 'ArrowRight', 'Shift+ArrowDown');
    expect(await announced.textContent()).toBe('Bay 3, 08:00 to 09:00');
    await type('Enter');
    await page.keyboard.type('Key');
    await type('Enter');
    await closed(page);
    await expectNames(page, 'Key', ['Key 08:00–09:00, Bay 3']);

    await type('Enter');
    await tabTo(dialog(page).getByLabel('Bay', { exact: true }));
    await page.keyboard.type('Bay 4');
    await tabTo(named('Save'));
    await type('Enter');
    await closed(page);
    await expectNames(page, 'Key', ['Key 08:00–09:00, Bay 4']);
    await type('ArrowRight');
    expect(await announced.textContent()).toBe('Bay 4, 08:00 to 08:30, booked by Key');
    await type('Enter');
    await tabTo(named('History'));
    await type('Enter');
    await page.locator('.history li').nth(1).waitFor();
    await type('Escape');
    await closed(page);

    await type('ArrowRight', ...times('ArrowDown', 4));
    expect(await announced.textContent()).toBe('Bay 5, 10:00 to 10:30, booked by First, booked by Second');
    await type('Enter');
    await tabTo(named('Second, 10:15–10:30'));
    await type('Enter');
    await page.getByRole('heading', { name: 'Booking of Second' }).waitFor();
    await type('Escape');
    await closed(page);

    await tabTo(named('Close bays'), 'Shift+Tab');
    await type('Enter');
    await page.keyboard.type('Wet floor');
    await tabTo(dialog(page).getByRole('checkbox', { name: 'Bay 1', exact: true }));
    await type('Space');
    await tabTo(named('Close the bays'));
    await type('Enter');
    await page.locator('.closure').waitFor();
    await closed(page);
    await tabTo(sheet);
    await type(...times('ArrowLeft', 4), ...times('ArrowDown', 4));
    expect(await announced.textContent()).toBe('Bay 1, 12:00 to 12:30, closed: Wet floor');
    await type('Enter');
    await tabTo(named('Open again'));
    await type('Enter');
    await page.locator('.closure').waitFor({ state: 'detached' });
    await closed(page);

    await type(...times('ArrowRight', 3), ...times('ArrowUp', 8), 'Enter');
    await tabTo(named('Cancel booking'));
    await type('Enter', 'Enter');
    await toast(page).filter({ hasText: 'was cancelled' }).waitFor();
    await expectNames(page, 'Key', []);
    await closed(page);

    await page.setViewportSize({ width: 390, height: 900 });
    const bay = page.getByLabel('Bay', { exact: true });
    await tabTo(bay, 'Shift+Tab');
    await page.keyboard.type('Bay 7');
    await tabTo(sheet);
    await type('ArrowDown');
    expect(await announced.textContent()).toBe('Bay 7, 08:30 to 09:00');
    await type('ArrowRight');
    expect(await bay.inputValue()).toBe('Bay 8');
  }, 60_000);

  test('a closure lists the bookings that it meets, and opens again; opening hours and exceptions are edited', async () => {
    const date = nextDay();
    await book(date, 'bay-n2-01', 'Met', '10:00', '11:00');
    const page = await system.open(queryOf(date, 'loc-north-2'));
    await press(page, 'Close bays');
    await check(page, 'Bay 1');
    await fill(page, { Reason: 'Maintenance', From: `${date}T09:00`, To: `${date}T12:00` });
    await press(page, 'Close the bays');
    await dialog(page).getByRole('button', { name: 'Met, Bay 1, 10:00–11:00' }).waitFor();
    await page.keyboard.press('Escape');
    await expectNames(page, 'Met', ['Met 10:00–11:00 during a closure, Bay 1']);
    await press(page, 'New booking');
    await check(page, 'Bay 1');
    await fill(page, { Name: 'Late', From: `${date}T11:00`, To: `${date}T11:30` });
    await press(page, 'Book');
    await page.getByText('Bay 1 is closed at this time: Maintenance.').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.closure').click({ position: { x: 5, y: 5 } });
    await press(page, 'Open again');
    await page.locator('.closure').waitFor({ state: 'detached' });

    await press(page, 'Opening hours');
    await fill(page, { Tuesday: '7-22', Exceptions: `${date} 08:00-20:00` });
    await press(page, 'Save');
    await page.getByText('“7-22” is not a time range such as 07:00-22:00.').waitFor();
    await fill(page, { Tuesday: '25:00-26:00' });
    await press(page, 'Save');
    await page.locator('#field-tuesday-problem').filter({ hasText: 'must be a time' }).waitFor();
    await fill(page, { Tuesday: '07:00-22:00' });
    await press(page, 'Save');
    await toast(page).filter({ hasText: 'The opening hours were saved.' }).waitFor();
    await page.locator('.column').first().locator('.closed').nth(1).waitFor({ state: 'attached' });
    const { weekly, exceptions } = await system.call<{ weekly: object; exceptions: { date: string }[] }>(
      'GET',
      '/api/booking-locations/loc-north-2/opening-hours',
    );
    expect(weekly).toMatchObject({ tuesday: [{ opens: '07:00', closes: '22:00' }] });
    expect(exceptions).toContainEqual({ date, hours: [{ opens: '08:00', closes: '20:00' }] });
    await system.call('DELETE', '/api/booking-locations/loc-north-2/opening-hours');
  }, 60_000);

  test('closures and opening hours: a second save keeps what the other person has changed', async () => {
    const date = nextDay();
    const times = { startDate: at(date, '09:00'), endDate: at(date, '12:00') };
    const path = '/api/booking-locations/loc-north-2/opening-hours';
    await system.call('DELETE', path);
    const closure = { bayIds: ['bay-n2-01'], reason: 'Net torn' };
    const { id } = await system.call('POST', '/api/booking-closures', { ...closure, ...times });
    const page = await system.open(queryOf(date, 'loc-north-2'), tall);
    await page.locator('.closure').click({ position: { x: 5, y: 5 } });
    await system.call('PUT', `/api/booking-closures/${id}`, { ...closure, ...times, endDate: at(date, '13:00') });
    await fill(page, { Reason: 'Net torn again' });
    await press(page, 'Save');
    await page
      .getByText('Someone else changed the closure: the end from 12:00 to 13:00. Your change was not saved.')
      .waitFor();
    expect(await dialog(page).getByLabel('To').inputValue()).toBe(`${date}T13:00`);
    await press(page, 'Save');
    await toast(page).filter({ hasText: 'The closure was saved.' }).waitFor();
    expect(await system.call('GET', `/api/booking-closures/${id}`)).toMatchObject({
      reason: 'Net torn again',
      endDate: new Date(at(date, '13:00')).toISOString(),
    });
    await system.call('DELETE', `/api/booking-closures/${id}`);

    const open = [{ opens: '07:00', closes: '22:00' }];
    await book(date, 'bay-n2-01', 'Outside', '15:00', '16:00');
    await press(page, 'Opening hours');
    await system.call('PUT', path, { weekly: { monday: open }, exceptions: [] });
    await fill(page, { Tuesday: '08:00-20:00' });
    await press(page, 'Save');
    await page
      .getByText('Someone else changed the opening hours: the entry for Monday from always open to 07:00-22:00')
      .waitFor();
    expect(await dialog(page).getByLabel('Tuesday').inputValue()).toBe('08:00-20:00');
    await fill(page, { Exceptions: `${date} closed` });
    await press(page, 'Save');
    await dialog(page).getByText('Outside, Bay 1, 15:00–16:00').waitFor();
    expect(await system.call('GET', path)).toMatchObject({ weekly: { monday: open }, exceptions: [] });
    await press(page, 'Save anyway');
    await toast(page).filter({ hasText: 'The opening hours were saved.' }).waitFor();
    const { weekly } = await system.call<{ weekly: object }>('GET', path);
    expect(weekly).toEqual({ monday: open, tuesday: [{ opens: '08:00', closes: '20:00' }] });
    await expectNames(page, 'Outside', ['Outside 15:00–16:00 outside the opening hours, Bay 1']);
    await system.call('DELETE', path);
  }, 60_000);

  test('changes of other programs appear within 2 s, and after a lost connection by themselves', async () => {
    const date = nextDay();
    const page = await system.open(queryOf(date));
    const { id } = await book(date, 'bay-n1-01', 'Live', '10:00', '11:00');
    await booking(page, 'Live').waitFor({ timeout: feedMs });
    await system.call('DELETE', `/api/bookings/${id}`);
    await booking(page, 'Live').waitFor({ state: 'detached', timeout: feedMs });
    await page.context().setOffline(true);
    await page.getByText(/No connection since \d\d:\d\d/).waitFor();
    await press(page, 'Day after');
    await page.getByText('This day cannot be shown without a connection.').waitFor();
    await press(page, 'Sign out');
    await toast(page).filter({ hasText: 'You are still signed in' }).waitFor();
    await press(page, 'Day before');
    await page.locator('.sheet').waitFor();
    await book(date, 'bay-n1-02', 'Meanwhile', '10:00', '11:00');
    await press(page, 'New booking');
    await fill(page, { Name: 'Typed' });
    await press(page, 'Book');
    await page.getByText('What you typed is still here').waitFor();
    expect(await dialog(page).getByLabel('Name').inputValue()).toBe('Typed');
    await page.context().setOffline(false);
    await page.keyboard.press('Escape');
    await booking(page, 'Meanwhile').waitFor();
    await page.locator('.status', { hasText: 'Live' }).waitFor();
  }, 60_000);

  test('a network that never responds leads to a message, and the page catches up by itself', async () => {
    const date = nextDay();
    const page = await system.open(queryOf(date));
    await press(page, 'New booking');
    await fill(page, { Name: 'Hanging' });
    await page.route('**/api/**', () => {});
    await press(page, 'Book');
    await page.getByText('There is no connection to the service. What you typed is still here').waitFor();
    await page.getByText(/No connection since \d\d:\d\d/).waitFor();
    expect(await dialog(page).getByLabel('Name').inputValue()).toBe('Hanging');
    await book(date, 'bay-n1-02', 'Meanwhile', '10:00', '11:00');
    await page.unroute('**/api/**');
    await page.locator('.status', { hasText: 'Live' }).waitFor();
    await press(page, 'Book');
    await booking(page, 'Hanging').waitFor();
    expect(await namesOf(page, 'Hanging')).toHaveLength(1);
    await booking(page, 'Meanwhile').waitFor();
  }, 60_000);

  test('a position of the feed that is too old loads the day again, and keeps what was typed', async () => {
    const date = nextDay();
    const page = await system.open(queryOf(date));
    const statuses: number[] = [];
    page.on('response', (response) => statuses.push(response.status()));
    await press(page, 'New booking');
    await fill(page, { Name: 'Typed' });
    await page.context().setOffline(true);
    await page.getByText(/No connection since/).waitFor();
    await book(date, 'bay-n1-01', 'Meanwhile', '10:00', '11:00');
    // Retention does this 30 days after a deletion, if the deletion was the last change. A reader numbers the changes.
    await system.call('GET', '/api/booking-changes?facilityId=fac-north&latest=true');
    await system.query('bookings', "update facility set removed_change_number = change_number where id = 'fac-north'");
    await page.context().setOffline(false);
    await booking(page, 'Meanwhile').waitFor();
    await dialog(page).waitFor();
    expect(statuses).toContain(410);
    expect(await dialog(page).getByLabel('Name').inputValue()).toBe('Typed');
    await press(page, 'Book');
    await booking(page, 'Typed').waitFor();
  }, 60_000);

  test('after a lost response, a second save changes nothing twice', async () => {
    const date = nextDay();
    const page = await system.open(queryOf(date), tall);
    let losesResponse = false;
    await page.route('**/api/booking*/**', async (route) => {
      if (!losesResponse || route.request().method() !== 'PUT') return route.fallback();
      losesResponse = false;
      await route.fetch();
      await route.abort();
    });
    const save = async () => {
      losesResponse = true;
      await press(page, 'Save');
      await page.getByText('There is no connection').waitFor();
      await press(page, 'Save');
    };
    const times = { startDate: at(date, '10:00'), endDate: at(date, '11:00') };
    await book(date, 'bay-n1-01', 'Single', '10:00', '11:00');
    const bookings = ['bay-n1-05', 'bay-n1-06'].map((bayId) => ({ bayId, userAlias: 'Party', ...times }));
    await system.call('POST', '/api/booking-groups', { bookings });
    await booking(page, 'Single').click();
    await fill(page, { From: `${date}T11:00`, To: `${date}T12:00` });
    await save();
    await toast(page).filter({ hasText: 'Saved.' }).waitFor();
    await expectNames(page, 'Single', ['Single 11:00–12:00, Bay 1']);

    await booking(page, 'Party').first().click();
    await fill(page, { From: `${date}T11:00`, To: `${date}T12:00` });
    await dialog(page).getByLabel('Apply to').selectOption('all of the party');
    await save();
    await page.getByText('the start from 10:00 to 11:00, the end from 11:00 to 12:00.').waitFor();
    await press(page, 'Save');
    await dialog(page).waitFor({ state: 'detached' });
    await expectNames(page, 'Party', ['Party 11:00–12:00 group, Bay 5', 'Party 11:00–12:00 group, Bay 6']);
  }, 60_000);

  test('a late response to a change does not bring back a booking that is gone', async () => {
    const [date, other] = [nextDay(), nextDay()];
    const page = await system.open(queryOf(date), tall);
    const gone = async ({ id, bayId }: { id: string; bayId: string }) => {
      const moved = { bayId, userAlias: 'Ghost', startDate: at(other, '10:00'), endDate: at(other, '11:00') };
      await (bayId === 'bay-n1-01'
        ? system.call('DELETE', `/api/bookings/${id}`)
        : system.call('PUT', `/api/bookings/${id}`, moved));
    };
    for (const [bay, title] of [
      ['bay-n1-01', 'deleted'],
      ['bay-n1-02', 'moved to another day'],
    ] as const) {
      const ghost = { id: (await book(date, bay, 'Ghost', '10:00', '11:00')).id, bayId: bay };
      await booking(page, 'Ghost').waitFor();
      const url = `**/api/bookings/${ghost.id}`;
      await page.route(url, async (route) => {
        if (route.request().method() !== 'PUT') return route.continue();
        const response = await route.fetch();
        await gone(ghost);
        await booking(page, 'Ghost').waitFor({ state: 'detached' });
        await route.fulfill({ response });
      });
      await drag(page, [bay, 10.2], [bay, 12.2]);
      await page.mouse.up();
      await toast(page)
        .filter({ hasText: `Moved to Bay ${Number(bay.slice(-2))}, 12:00` })
        .waitFor();
      expect({ title, bookings: await namesOf(page, 'Ghost') }).toEqual({ title, bookings: [] });
    }
  }, 60_000);

  test('typing dims what it does not find and hides nothing, and a locked sheet changes nothing', async () => {
    const date = nextDay();
    const metadata = { phone: '+45 1234', note: 'Left-handed' };
    await book(date, 'bay-n1-01', 'Søren', '10:00', '11:00', { metadata });
    await book(date, 'bay-n1-02', 'Grace', '10:00', '11:00');
    const times = { startDate: at(date, '12:00'), endDate: at(date, '13:00') };
    await system.call('POST', '/api/booking-closures', { bayIds: ['bay-n1-03'], reason: 'Net torn', ...times });
    const page = await system.open(queryOf(date), tall);
    const search = page.getByLabel('Search', { exact: true });
    const dimmed = page.locator('.booking.filtered');
    for (const [text, expected] of [
      ['grac', ['Søren']],
      ['SØR', ['Grace']],
      ['left-h', ['Grace']],
      ['1234', ['Grace']],
      [' ', []],
    ] as const) {
      await search.fill(text);
      expect(await dimmed.locator('strong').allTextContents()).toEqual(expected);
      expect(await page.locator('.booking:visible, .closure:visible').count()).toBe(3);
    }
    await page.setViewportSize({ width: 390, height: 700 });
    for (const name of ['Søren', 'Grace']) {
      await search.fill(name);
      expect(await booking(page, name).isVisible()).toBe(true);
    }
    await page.setViewportSize(tall.viewport);
    await press(page, 'List');
    expect(await page.locator('.list tbody tr').allTextContents()).toEqual([
      '12:00–13:00Bay 3Closed: Net torn',
      '10:00–11:00Bay 1Søren',
      '10:00–11:00Bay 2Grace',
    ]);
    expect(await page.locator('.list .filtered').allTextContents()).toEqual(['10:00–11:00Bay 1Søren']);
    expect(await findViolations(page)).toEqual([]);
    await press(page, 'Grid');
    await page.getByLabel('Lock the sheet').check();
    expect(await page.getByRole('button', { name: 'New booking' }).isDisabled()).toBe(true);
    await drag(page, ['bay-n1-02', 10.2], ['bay-n1-03', 15.2]);
    await page.mouse.up();
    await expectNames(page, 'Grace', ['Grace 10:00–11:00, Bay 2']);
  }, 60_000);

  test('a search of all days shows upcoming bookings before past ones, each at its place, and reads every page', async () => {
    const date = nextDay();
    await system.query(
      'bookings',
      `insert into booking (facility_id, id, location_id, bay_id, user_alias, start_date, end_date, created_at,
         last_updated_at)
       select facility_id, gen_random_uuid(), location_id, bay.id, 'Frequent', day, day + interval '1 hour', now(), now()
       from bay, generate_series(now() - interval '500 days', now() + interval '500 days', interval '18 days') day
       where bay.id in ('bay-n1-01', 'bay-s1-01')`,
    );
    const page = await system.open(queryOf(date), { username: 'both@example.com' });
    await page.getByLabel('Search', { exact: true }).fill('FREQUENT');
    await press(page, 'Search all days');
    const results = dialog(page).locator('li');
    await results.nth(100).waitFor();
    while (await dialog(page).getByRole('button', { name: 'Show more' }).isVisible()) await press(page, 'Show more');
    expect(await results.count()).toBe(112);
    expect(await dialog(page).locator('h3').allTextContents()).toEqual(['Upcoming', 'Past']);
  }, 60_000);

  test('people of two facilities choose, a Bookings Manager cannot close bays, and signing out ends the session', async () => {
    const both = await system.open('', { username: 'both@example.com' });
    await both.getByRole('button', { name: 'South Range: South Range' }).click();
    await both.locator('.sheet').waitFor();
    expect(new URL(both.url()).searchParams.get('location')).toBe('loc-south-1');
    const page = await system.open('', { username: 'bot@north.example' });
    expect(await page.getByRole('button', { name: 'New booking' }).count()).toBe(1);
    expect(await page.getByRole('button', { name: 'Close bays' }).count()).toBe(0);
    for (const foreign of ['code=x&state=y', 'state=signed-out', 'error=access_denied']) {
      await page.goto(`${system.base}/day/?location=loc-north-2&date=2027-01-04&${foreign}`);
      await toast(page).filter({ hasText: 'It was ignored.' }).waitFor();
      expect(page.url()).toBe(`${system.base}/day${queryOf('2027-01-04', 'loc-north-2')}`);
    }
    const sent = page.waitForRequest((request) => request.headers().authorization !== undefined);
    await page.reload();
    const { authorization = '' } = (await sent).headers();
    await page.locator('.sheet').waitFor();
    await press(page, 'Sign out');
    await page.waitForURL(`${system.issuer}/**`);
    // Bookings reads the list of revoked tokens every few seconds.
    const statusOfToken = async () => (await fetch(`${system.base}/api/me`, { headers: { authorization } })).status;
    await eventually(async () => (await statusOfToken()) === 401);
    await press(page, 'Sign out');
    await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
    await press(page, 'Sign in');
    await page.getByLabel('Password', { exact: true }).waitFor();
  }, 60_000);

  test('somebody who may only book at the second facility gets there, and back to all rights at the first', async () => {
    const page = await system.open('', { username: 'mixed@example.com' });
    const closeBays = page.getByRole('button', { name: 'Close bays' });
    const choose = async (label: string) => {
      await page.getByLabel('Location', { exact: true }).selectOption(label);
    };
    await closeBays.waitFor();
    await choose('Other facilities…');
    await page.getByRole('button', { name: 'South Range: South Range' }).click();
    await page.waitForURL('**/day?location=loc-south-1&date=*');
    await page.getByRole('button', { name: 'New booking' }).waitFor();
    expect(await closeBays.count()).toBe(0);
    await page.reload();
    await page.getByRole('button', { name: 'New booking' }).waitFor();
    expect(new URL(page.url()).searchParams.get('location')).toBe('loc-south-1');
    await choose('loc-north-1');
    await closeBays.waitFor();
    await page.goto(`${system.base}/day?location=loc-gone`);
    await closeBays.waitFor();
    expect(new URL(page.url()).searchParams.get('location')).toBe('loc-north-1');
  }, 60_000);

  test('everything is accessible and fits at 390, 768 and 1280 pixels, light and dark', async () => {
    const date = nextDay();
    await book(date, 'bay-n1-01', 'Ada Lovelace', '10:00', '11:00', { externalBookingId: `REF-${date}` });
    // The picture in README.md is the screenshot of this grid.
    const players = ['Grace', 'Linus', 'Margaret', 'Ken', 'Barbara', 'Dennis', 'Radia', 'Tim'];
    for (const [index, name] of players.entries()) {
      const hour = 10 + ((index * 3) % 7);
      await book(date, `bay-n1-0${index + 2}`, name, `${hour}:30`, `${hour + 1}:30`);
    }
    const times = { startDate: at(date, '11:00'), endDate: at(date, '13:00') };
    await system.call('POST', '/api/booking-closures', { bayIds: ['bay-n1-10'], reason: 'Net torn', ...times });
    const page = await system.open(queryOf(date));
    const states: readonly (readonly [string, () => Promise<void>])[] = [
      ['grid', async () => {}],
      ['list', () => press(page, 'List')],
      [
        'new',
        async () => {
          await press(page, 'Grid');
          await press(page, 'New booking');
          await press(page, 'Book');
          await page.getByText('The name is missing.').waitFor();
        },
      ],
      ['booking', () => booking(page, 'Ada').press('Enter')],
      ['closure', () => page.locator('.closure').press('Enter')],
      ['hours', () => press(page, 'Opening hours')],
      ['history', () => press(page, 'Changes')],
    ];
    for (const [state, show] of states) {
      await show();
      if (state !== 'grid' && state !== 'list') await dialog(page).waitFor();
      for (const width of [390, 768, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          const found = { violations: await findViolations(page), overflows: await overflowsHorizontally(page) };
          expect({ state, width, colorScheme, ...found }).toEqual({
            state,
            width,
            colorScheme,
            violations: [],
            overflows: false,
          });
          await saveScreenshot(page, `day-sheet-${state}-${width}-${colorScheme}`);
        }
      }
      await page.keyboard.press('Escape');
    }
  }, 180_000);

  test('a day of 12 bays and 16 hours is one page of paper', async () => {
    const page = await system.open(queryOf(nextDay()));
    const pdf = (await page.pdf({ preferCSSPageSize: true })).toString('latin1');
    expect(pdf.match(/\/Type\s*\/Page\b/g)).toHaveLength(1);
  }, 60_000);

  test('a finger swipes to scroll, and drags after a long press only', async () => {
    const date = nextDay();
    await book(date, 'bay-n1-01', 'Finger', '03:30', '04:30');
    const page = await system.open(queryOf(date), phone);
    const touch = await createFinger(page);
    const box = await scrollToTop(page, 'Finger');
    await page.evaluate(`void (sheetRests = new Promise((resolve) => {
      document.querySelector('.sheet').addEventListener('scrollend', ({ target }) => target.scrollTop > 0 && resolve());
    }))`);
    await touch('touchStart', box);
    await touch('touchMove', box, -100);
    await touch('touchEnd');
    // While the sheet still moves, the browser takes the next touch for scrolling.
    await page.evaluate('sheetRests');
    expect(await scrollToTop(page, 'Finger')).toEqual(box);
    await touch('touchStart', box);
    await page.locator('.sheet.dragging').waitFor();
    await touch('touchMove', box, 28);
    await touch('touchEnd');
    await toast(page).filter({ hasText: 'Moved to Bay 1, 04:00–05:00.' }).waitFor();
  }, 60_000);

  test('a booking that somebody changes during a drag stays in hand, and the sheet says what has changed', async () => {
    const date = nextDay();
    const { id } = await book(date, 'bay-n1-01', 'Held', '00:30', '01:30');
    const page = await system.open(queryOf(date), phone);
    const touch = await createFinger(page);
    const box = await scrollToTop(page, 'Held');
    await touch('touchStart', box);
    await page.locator('.sheet.dragging').waitFor();
    const body = { userAlias: 'Held', startDate: at(date, '03:00'), endDate: at(date, '04:00'), bayId: 'bay-n1-01' };
    await system.call('PUT', `/api/bookings/${id}`, body);
    await book(date, 'bay-n1-01', 'Later', '06:00', '07:00');
    await booking(page, 'Later').waitFor();
    await expectNames(page, 'Held', ['Held 00:30–01:30, Bay 1']);
    await touch('touchMove', box, 28);
    await page.locator('.selection', { hasText: '01:00–02:00' }).waitFor();
    await touch('touchEnd');
    await page
      .getByRole('alert')
      .getByText('the start from 00:30 to 03:00, the end from 01:30 to 04:00. Your change was not saved.')
      .waitFor();
    await expectNames(page, 'Held', ['Held 03:00–04:00, Bay 1']);
  }, 60_000);

  test('a drag to the edge scrolls, and a rejected one says why at the booking', async () => {
    const date = nextDay();
    await book(date, 'bay-n1-03', 'Ada', '23:00', '23:59');
    await book(date, 'bay-n1-10', 'Edge', '12:00', '13:00');
    const page = await system.open(queryOf(date));
    const [sheet, rejection] = [page.locator('.sheet'), page.locator('.rejection')];
    const move = async () => {
      await booking(page, 'Edge').scrollIntoViewIfNeeded();
      const [from, to, target] = await Promise.all([
        booking(page, 'Edge').boundingBox(),
        sheet.boundingBox(),
        page.locator('.column[data-bay="bay-n1-03"]').boundingBox(),
      ]);
      if (!from || !to || !target) throw new Error('the booking is not visible');
      await page.mouse.move(from.x + 20, from.y + from.height / 2 + 4);
      await page.mouse.down();
      await page.mouse.move(target.x + 20, to.y + to.height - 10, { steps: 4 });
      await page.locator('.selection', { hasText: '23:00–00:00' }).waitFor();
      await page.mouse.up();
      await rejection.getByText('Bay 3 is booked from 23:00 by Ada.').waitFor();
    };
    await move();
    expect(await rejection.getAttribute('role')).toBe('alert');
    await expectNames(page, 'Edge', ['Edge 12:00–13:00, Bay 10']);
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      await rejection.scrollIntoViewIfNeeded();
      const [outer, inner] = [await sheet.boundingBox(), await rejection.boundingBox()];
      if (!outer || !inner) throw new Error('the sentence is not visible');
      expect(inner.x).toBeGreaterThan(outer.x);
      expect(inner.x + inner.width).toBeLessThan(outer.x + outer.width);
      expect(await findViolations(page)).toEqual([]);
      await saveScreenshot(page, `day-sheet-rejection-${width}-light`);
    }
    await press(page, 'Close');
    expect(await rejection.count()).toBe(0);
    await move();
    await page.keyboard.press('Escape');
    expect(await rejection.count()).toBe(0);
  }, 60_000);

  test('a day of 200 bays with 3000 bookings is drawn soon, and a change as well', async () => {
    const bays = Array.from({ length: 200 }, (_, index) => ({
      id: `bay-big-${index}`,
      name: `Bay ${index + 1}`,
      description: '',
      kind: 'RangeBay',
      bookable: true,
    }));
    const location = { id: 'loc-big', name: 'Big', bays };
    await system.importInto('bookings', {
      facilities: [{ id: 'fac-north', name: 'North Range', timeZone: 'Europe/Copenhagen', locations: [location] }],
    });
    const date = nextDay();
    await system.query(
      'bookings',
      `insert into booking (facility_id, id, location_id, bay_id, user_alias, start_date, end_date, created_at,
         last_updated_at, group_id)
       select 'fac-north', gen_random_uuid(), 'loc-big', 'bay-big-' || bay, 'Player ' || bay,
         $1::timestamptz + hour * interval '1 hour', $1::timestamptz + (hour + 1) * interval '1 hour', now(), now(),
         md5((bay / 4)::text)::uuid
       from generate_series(0, 199) bay, generate_series(6, 20) hour`,
      [at(date, '00:00')],
    );
    const page = await system.open(queryOf(date, 'loc-big'));
    const sizes: Promise<{ responseBodySize: number }>[] = [];
    page.on('requestfinished', (request) => sizes.push(request.sizes()));
    const begin = Date.now();
    await page.reload();
    await page.locator('.booking').nth(2_999).waitFor({ state: 'attached' });
    const drawn = Date.now() - begin;
    const transferred = (await Promise.all(sizes)).reduce((sum, { responseBodySize }) => sum + responseBodySize, 0);
    await press(page, 'Day before');
    await booking(page, 'Player').first().waitFor({ state: 'detached' });
    const turn = Date.now();
    await press(page, 'Day after');
    await page.locator('.booking').nth(2_999).waitFor({ state: 'attached' });
    const turned = Date.now() - turn;
    process.stderr.write(
      `day sheet: 3000 bookings after ${drawn} ms with a sign-in (${transferred} bytes), ${turned} ms without\n`,
    );
    expect(transferred).toBeLessThan(2_000_000);
    await book(date, 'bay-big-0', 'Late', '22:00', '23:00');
    await booking(page, 'Late').waitFor({ timeout: feedMs });
  }, 120_000);

  test('an expired token leads through auth and back to the same dialog', async () => {
    const setLifetime = (seconds: number) =>
      system.query(
        'auth',
        `update client set metadata = metadata || '{ "access_token_ttl": ${seconds} }' where id = 'day-sheet'`,
      );
    await setLifetime(27);
    const date = nextDay();
    const page = await system.open(queryOf(date));
    const other = await system.open(queryOf(date), { username: 'both@example.com' });
    for (const one of [page, other]) {
      await press(one, 'New booking');
      await fill(one, { Name: 'Expired', From: `${date}T09:00`, To: `${date}T10:00` });
      await check(one, 'Bay 4');
    }
    for (const one of [page, other])
      await one.locator('.status', { hasText: 'Waiting for a new sign-in' }).waitFor({ timeout: 60_000 });
    await setLifetime(7_200);
    const isBack = page.waitForEvent('framenavigated', (frame) => frame.url().startsWith(`${system.base}/day?`));
    await Promise.all([isBack, press(page, 'Book')]);
    await dialog(page).waitFor();
    expect(await dialog(page).getByLabel('Name').inputValue()).toBe('Expired');
    await press(page, 'Book');
    await booking(page, 'Expired').first().waitFor();
    expect(await namesOf(page, 'Expired')).toEqual([
      'Expired 09:00–10:00 group, Bay 1',
      'Expired 09:00–10:00 group, Bay 4',
    ]);

    // The draft of one user is gone after another one has signed in.
    await other.context().clearCookies();
    await press(other, 'Book');
    await signIn(other, 'owner@north.example');
    await allow(other);
    await other.locator('.sheet').waitFor();
    expect(await dialog(other).count()).toBe(0);
    expect(await other.evaluate('JSON.stringify({ ...sessionStorage })')).not.toContain('Expired');
  }, 180_000);

  test('a step-up leads through auth and back to the same dialog', async () => {
    await system.restartBookings({ STEP_UP: 'schedule' });
    const page = await system.open(queryOf('2027-01-04'), { username: 'secure@north.example' });
    const anHourAgo = `jsonb_set(payload, '{loginTs}', to_jsonb(extract(epoch from now())::int - 3700))`;
    await system.query(
      'auth',
      `update oidc_artifact set payload = ${anHourAgo} where model = 'Session' and payload ->> 'loginTs' is not null`,
    );
    await page.reload();
    await press(page, 'Close bays');
    await check(page, 'Bay 2');
    await fill(page, { Reason: 'Typed before', From: '2027-01-04T09:00', To: '2027-01-04T10:00' });
    const expectTyped = async () => {
      await page.waitForURL(`${system.base}/day?**`);
      await dialog(page).waitFor();
      expect(await dialog(page).getByLabel('Reason').inputValue()).toBe('Typed before');
      expect(await dialog(page).getByRole('checkbox', { name: 'Bay 2', exact: true }).isChecked()).toBe(true);
      expect(await dialog(page).getByLabel('From').inputValue()).toBe('2027-01-04T09:00');
      await press(page, 'Close the bays');
    };
    await press(page, 'Close the bays');
    await page.waitForURL(`${system.issuer}/interaction/**`);
    await page.goBack({ waitUntil: 'commit' });
    await expectTyped();
    await page.waitForURL(`${system.issuer}/interaction/**`);
    await signIn(page, 'secure@north.example', 'demo-0002');
    await expectTyped();
    await page.locator('.closure').waitFor();
  }, 120_000);
});
