// Tests the day sheet, the page /day of bookings, in Chromium: what its users see and do, and what the page must not
// do. The rules of the page have unit tests in apps/bookings/day-sheet/day/.
import { findViolations, type Locator, overflowsHorizontally, saveScreenshot } from '@bay-booking/testkit/browser';
import { eventually } from '@bay-booking/testkit/wait';
import { afterEach, expect, test } from '@jest/globals';
import { describeInChromium } from './support/browser-system.ts';
import {
  at,
  booking,
  check,
  closed,
  createFinger,
  dialog,
  drag,
  expectNames,
  expectToast,
  expire,
  feedMs,
  fill,
  namesOf,
  nextDay,
  phone,
  press,
  queryOf,
  scrollToTop,
  seriesDay,
  tall,
} from './support/day-sheet-page.ts';
import { allow, signIn, useDaySheet } from './support/day-sheet-system.ts';

describeInChromium('the day sheet', () => {
  const system = useDaySheet();
  afterEach(() => system.closePages());
  const timesOf = (date: string, from: string, to: string) => ({ startDate: at(date, from), endDate: at(date, to) });
  const book = (date: string, bayId: string, userAlias: string, from: string, to: string, more: object = {}) =>
    system.call('POST', '/api/bookings', { bayId, userAlias, ...timesOf(date, from, to), ...more });
  const close = (date: string, bayId: string, reason: string, from: string, to: string) =>
    system.call('POST', '/api/booking-closures', { bayIds: [bayId], reason, ...timesOf(date, from, to) });

  test('a day has bays, closures, hours and bookings over midnight, and its clocks may change; the page keeps no token', async () => {
    const [before, date] = [nextDay(), nextDay()];
    const name = '<img src=x onerror=alert(1)>';
    await book(date, 'bay-n1-01', name, '10:00', '11:00');
    const late = { startDate: at(before, '23:30'), endDate: at(date, '00:30') };
    await system.call('POST', '/api/bookings', { bayId: 'bay-n1-02', userAlias: 'Owl', ...late });
    await close(date, 'bay-n1-05', 'Net torn', '09:00', '12:00');
    const hours = { weekly: {}, exceptions: [{ date, hours: [{ opens: '00:00', closes: '22:00' }] }] };
    const path = '/api/booking-locations/loc-north-1/opening-hours';
    await system.call('PUT', path, hours);
    const page = await system.open(queryOf(date), tall);
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
    const policy = (await fetch(`${system.base}/day`)).headers.get('content-security-policy') ?? '';
    expect(policy).not.toContain('unsafe');
    expect(/connect-src ([^;]*)/.exec(policy)?.[1]).toBe(`'self' ${system.base} ${system.issuer}`);

    const bays = await page.locator('.bay-name > span').allTextContents();
    expect(bays.slice(0, 11)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 99].map((number) => `Bay ${number}`));
    expect(await page.locator('.times span').count()).toBe(48);
    expect(await namesOf(page, 'Owl')).toHaveLength(1);
    expect(await page.locator('.closure').allTextContents()).toEqual(['Net torn']);
    expect(await page.locator('.column').first().locator('.closed').count()).toBe(1);
    await system.call('DELETE', path);
    await press(page, 'Day before');
    await booking(page, 'Owl').waitFor();

    // In the hour that occurs twice, every time carries its zone.
    await page.goto(`${system.base}/day${queryOf('2027-10-31')}`);
    await page.getByRole('heading', { name: '31 October' }).waitFor();
    const labels = await page.locator('.times span').allTextContents();
    expect(labels).toHaveLength(50);
    expect(labels.slice(3, 9)).toEqual(['01:30', '02:00 CEST', '02:30 CEST', '02:00 CET', '02:30 CET', '03:00']);
    await page.locator('.column[data-bay="bay-n1-02"]').click({ position: { x: 20, y: 6 * 28 + 5 } });
    await fill(page, { Name: 'Twice' });
    await press(page, 'Book');
    await expectNames(page, 'Twice', ['Twice 02:00 CET–03:00, Bay 2']);
    await closed(page);
    await booking(page, 'Twice').click();
    await dialog(page).getByLabel('Zone of the start').selectOption('02:00 CEST');
    await press(page, 'Save');
    await expectNames(page, 'Twice', ['Twice 02:00 CEST–03:00, Bay 2']);

    await page.goto(`${system.base}/day${queryOf('2027-03-28')}`);
    await page.getByRole('heading', { name: '28 March' }).waitFor();
    expect(await page.locator('.times span').count()).toBe(46);
    await press(page, 'New booking');
    await fill(page, { Name: 'Skipped', From: '2027-03-28T02:15', To: '2027-03-28T02:45' });
    await press(page, 'Book');
    await page.getByText('The clocks skip this time, so no time remains').waitFor();
    expect(await dialog(page).getByLabel('To', { exact: true }).getAttribute('aria-invalid')).toBe('true');
    // One of the bays is not bookable.
    expect(await dialog(page).getByRole('checkbox').count()).toBe(10);
  }, 180_000);

  test('somebody books, moves, lengthens, undoes and cancels, reads who did it, and overwrites nothing', async () => {
    const date = nextDay();
    await book(date, 'bay-n1-03', 'Ada', '18:00', '19:00');
    const page = await system.open(queryOf(date), tall);
    await drag(page, ['bay-n1-03', 17.1], ['bay-n1-03', 18.2]);
    await fill(page, { Name: 'Bob' });
    await press(page, 'Book');
    await page.getByText('Bay 3 is booked from 18:00 by Ada.').waitFor();
    await fill(page, { To: `${date}T18:00`, 'Reference (optional)': `B-${date}` });
    await press(page, 'Book');
    await expectNames(page, 'Bob', [`Bob 17:00–18:00 B-${date}, Bay 3`]);

    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    await page.route('**/api/bookings/*', (route) => held.then(() => route.fallback()), { times: 1 });
    await drag(page, ['bay-n1-03', 18.2], ['bay-n1-04', 19.2]);
    await page.locator('.saving').waitFor();
    // The first drag is not saved yet, so the second one has no effect.
    await drag(page, ['bay-n1-03', 18.2], ['bay-n1-04', 21.2]);
    release();
    await expectToast(page, 'Moved to Bay 4, 19:00–20:00.');
    await press(page, 'Undo');
    await expectNames(page, 'Ada', ['Ada 18:00–19:00, Bay 3']);
    expect(await page.locator('.rejection').count()).toBe(0);
    await drag(page, ['bay-n1-03', 18.95], ['bay-n1-03', 19.8]);
    await expectToast(page, 'Lengthened: Bay 3, 18:00–20:00.');
    await booking(page, 'Ada').click();
    await press(page, 'Cancel booking');
    await press(page, 'Yes, cancel');
    await expectToast(page, 'The booking of Ada was cancelled.');
    await expectNames(page, 'Ada', []);
    await press(page, 'Changes');
    await page.locator('.history li').first().waitFor();
    const history = await page.locator('.history li').allTextContents();
    expect(history[0]).toMatch(/^Cancelled by Nora North \(you\).*Ada, Bay 3, 18:00–20:00$/);
    expect(history.at(-1)).toMatch(/^Booked by Demo token to manage, North Range \(North Facility Manager\).*Ada/);
    await page.keyboard.press('Escape');

    const metadata = { phone: '+45 1', players: '4', attendance: 'waiting' };
    const half = await book(date, 'bay-n1-09', 'Half', '08:00', '08:30', { metadata });
    await booking(page, 'Half').waitFor();
    const lines = booking(page, 'Half').locator('strong, .inside > bdi');
    const tops = await lines.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
    expect(Math.abs((tops[0] ?? 0) - (tops[1] ?? 99))).toBeLessThan(6);
    await booking(page, 'Half').click();
    await dialog(page).getByText('players: 4').waitFor();
    await fill(page, { Note: 'Left-handed', Phone: '' });
    await dialog(page).getByLabel('Attendance').selectOption('No-show');
    await press(page, 'Save');
    await expectNames(page, 'Half', ['Half 08:00–08:30 No-show Left-handed, Bay 9']);
    expect(await system.call('GET', `/api/bookings/${half.id}`)).toMatchObject({
      metadata: { players: '4', note: 'Left-handed', attendance: 'no-show' },
    });

    const { id } = await book(date, 'bay-n1-01', 'Seen', '10:00', '11:00');
    await booking(page, 'Seen').waitFor();
    await drag(page, ['bay-n1-01', 10.2], ['bay-n1-02', 10.2]);
    await expectToast(page, 'Moved to Bay 2');
    const renamed = { userAlias: 'Renamed', ...timesOf(date, '10:00', '11:00') };
    await system.call('PUT', `/api/bookings/${id}`, { ...renamed, bayId: 'bay-n1-02' });
    // A sentence about a booking that the view does not show is a message.
    await press(page, 'List');
    await press(page, 'Undo');
    await expectToast(page, 'Somebody else changed the booking of Seen (Bay 2, 10:00): the name from Seen to Renamed.');
    await press(page, 'Grid');
    await expectNames(page, 'Renamed', ['Renamed 10:00–11:00, Bay 2']);
    await booking(page, 'Renamed').click();
    await system.call('PUT', `/api/bookings/${id}`, { ...renamed, bayId: 'bay-n1-04' });
    await fill(page, { Name: 'Renamed twice' });
    await press(page, 'Save');
    await page.getByText('the bay from Bay 2 to Bay 4. Your change was not saved.').waitFor();
    await press(page, 'Save');
    await expectNames(page, 'Renamed', ['Renamed twice 10:00–11:00, Bay 4']);
  }, 180_000);

  test('several bays are a party, changed alone or as a whole, and a series names its conflicts before it is saved', async () => {
    const date = seriesDay;
    const page = await system.open(queryOf(date), tall);
    await drag(page, ['bay-n1-06', 14.1], ['bay-n1-07', 14.9]);
    await fill(page, { Name: 'Party' });
    await press(page, 'Book');
    await expectToast(page, '2 bookings were made.');
    await drag(page, ['bay-n1-06', 14.2], ['bay-n1-07', 15.2]);
    await press(page, 'All');
    await expectToast(page, 'Moved to Bay 7, 15:00–16:00, with all of the party.');
    await expectNames(page, 'Party', ['Party 15:00–16:00 group, Bay 7', 'Party 15:00–16:00 group, Bay 8']);
    await booking(page, 'Party').first().click();
    await fill(page, { Name: 'Party of one' });
    await press(page, 'Save');
    await expectNames(page, 'Party', ['Party 15:00–16:00 group, Bay 8', 'Party of one 15:00–16:00 group, Bay 7']);

    const inAWeek = new Date(Date.parse(date) + 7 * 86_400_000).toISOString().slice(0, 10);
    await book(inAWeek, 'bay-n1-02', 'Blocker', '12:30', '13:30');
    await press(page, 'New booking');
    await check(page, 'Bay 2');
    await fill(page, { Name: 'Series', 'Repeat weekly: number of weeks': '3' });
    await press(page, 'Check the dates');
    await page.getByText('Not free: 1 of 6 times. Nothing was saved.').waitFor();
    expect(await page.locator('.dates .conflict').allTextContents()).toEqual([
      expect.stringContaining('Bay 2 is booked from 12:30 by Blocker.'),
    ]);
    const expectTotal = async (total: number) =>
      expect((await system.call<{ total: number }>('GET', '/api/bookings?userAlias=Series')).total).toBe(total);
    expect(await dialog(page).locator('.dates').last().allTextContents()).toEqual([
      expect.stringMatching(/^Bay 3, .* 12:00–13:00$/),
    ]);
    await dialog(page).getByRole('button', { name: 'Book all 6 with these bays' }).waitFor();
    await expectTotal(0);
    await press(page, 'Book the other 5 times');
    await expectToast(page, '5 bookings were made.');
    await expectTotal(5);
    await closed(page);
    await booking(page, 'Series').last().click();
    await fill(page, { Name: 'League' });
    await dialog(page).getByLabel('Apply to').selectOption('This date');
    await press(page, 'Save');
    await expectNames(page, 'League', ['League 12:00–13:00 group, Bay 1', 'League 12:00–13:00 group, Bay 2']);
    await closed(page);
    await booking(page, 'League').last().click();
    await dialog(page).getByLabel('Apply to').selectOption('This date');
    await press(page, 'Cancel booking');
    await press(page, 'Yes, cancel');
    await expectNames(page, 'League', []);
    await expectTotal(3);
  }, 120_000);

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
    const sheet = page.locator('.sheet');
    const expectAnnounced = async (text: string) =>
      expect(await page.locator('#announcements').textContent()).toBe(text);

    await tabTo(sheet);
    await type('Tab');
    expect(await page.locator('.sheet :focus').count()).toBe(0);
    await type('Shift+Tab', 'ArrowRight', 'ArrowRight', 'Shift+ArrowDown');
    await expectAnnounced('Bay 3, 08:00 to 09:00');
    await type('Enter');
    await page.keyboard.type('Key');
    await type('Enter');
    await closed(page);
    await type('Enter');
    await tabTo(dialog(page).getByLabel('Bay', { exact: true }));
    await page.keyboard.type('Bay 4');
    await tabTo(named('Save'));
    await type('Enter');
    await closed(page);
    await expectNames(page, 'Key', ['Key 08:00–09:00, Bay 4']);
    await type('ArrowRight');
    await expectAnnounced('Bay 4, 08:00 to 08:30, booked by Key');

    await type('ArrowRight', ...times('ArrowDown', 4));
    await expectAnnounced('Bay 5, 10:00 to 10:30, booked by First, booked by Second');
    await type('Enter');
    await tabTo(named('Second, 10:15–10:30'));
    await type('Enter');
    await tabTo(named('Cancel booking'));
    await type('Enter', 'Tab', 'Enter');
    // The answer “Keep booking” is gone, and the form still has the focus.
    expect(await dialog(page).locator(':focus').count()).toBe(1);
    await tabTo(named('Cancel booking'));
    await type('Enter', 'Enter');
    await expectToast(page, 'was cancelled');
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
    await expectAnnounced('Bay 1, 12:00 to 12:30, closed: Wet floor');
    await type('Enter');
    await tabTo(named('Open again'));
    await type('Enter');
    await page.locator('.closure').waitFor({ state: 'detached' });
    await closed(page);

    await tabTo(named('List'), 'Shift+Tab');
    await type('Enter');
    await tabTo(named('First'));
    await type('Enter');
    await page.keyboard.type('The ');
    await type('Enter');
    // The list has a new row for the booking, and that has the focus.
    await page.locator('.list :focus', { hasText: 'The First' }).waitFor();
    await tabTo(named('Grid'), 'Shift+Tab');
    await type('Enter');
    await page.getByLabel('Date', { exact: true }).focus();
    const url = page.url();
    await page.keyboard.type('02022031');
    expect(page.url()).toBe(url);
    await type('Enter');
    await page.getByRole('heading', { name: '2 February 2031' }).waitFor();

    await page.setViewportSize({ width: 390, height: 900 });
    const bay = page.getByLabel('Bay', { exact: true });
    await tabTo(bay, 'Shift+Tab');
    await page.keyboard.type('Bay 7');
    await tabTo(sheet);
    await type('ArrowRight');
    expect(await bay.inputValue()).toBe('Bay 8');
  }, 120_000);

  test('closures and opening hours list the bookings they meet, and keep what another person has changed', async () => {
    const date = nextDay();
    await book(date, 'bay-n2-01', 'Met', '10:00', '11:00');
    const path = '/api/booking-locations/loc-north-2/opening-hours';
    const open = { opens: '07:00', closes: '22:00' };
    const page = await system.open(queryOf(date, 'loc-north-2'), tall);
    await press(page, 'Close bays');
    await check(page, 'Bay 1');
    await fill(page, { Reason: 'Maintenance', From: `${date}T09:00`, To: `${date}T12:00` });
    await dialog(page).getByText('Bookings in the closed time: 1.').waitFor();
    await fill(page, { From: `${date}T11:00` });
    await dialog(page).getByText('No bookings during this closure.').waitFor();
    await fill(page, { From: `${date}T09:00` });
    await press(page, 'Close the bays');
    await dialog(page).getByRole('button', { name: 'Met, Bay 1, 10:00–11:00' }).waitFor();
    await page.keyboard.press('Escape');
    await expectNames(page, 'Met', ['Met 10:00–11:00 during a closure, Bay 1']);
    await page.locator('.closure').click({ position: { x: 5, y: 5 } });
    await fill(page, { Reason: 'Net torn', To: `${date}T13:00` });
    await press(page, 'Save');
    await expectToast(page, 'The closure was saved.');
    const { items } = await system.call<{ items: object[] }>('GET', '/api/booking-closures?bayIds=bay-n2-01');
    expect(items).toMatchObject([{ reason: 'Net torn', endDate: new Date(at(date, '13:00')).toISOString() }]);
    await press(page, 'Open again');
    await page.locator('.closure').waitFor({ state: 'detached' });

    await press(page, 'Opening hours');
    await press(page, 'Remove the hours: Monday');
    await fill(page, { 'Monday opens': '07:00' });
    await press(page, 'Save');
    await page.locator('#field-monday-problem').filter({ hasText: 'Please enter the closing time too' }).waitFor();
    expect(await dialog(page).getByLabel('Monday opens').getAttribute('aria-invalid')).toBe('true');
    await fill(page, { 'Monday closes': '22:00' });
    await press(page, 'Copy to all days');
    await press(page, 'Remove the hours: Sunday');
    await press(page, 'Add hours: Saturday');
    await fill(page, { 'Saturday, hours 2 opens': '23:00', 'Saturday, hours 2 closes': '02:00' });
    // The demo has an exception in the past.
    await press(page, 'Remove exception 1');
    await press(page, 'Add an exception');
    await fill(page, { 'Exception 1 date': date, 'Exception 1 opens': '08:00', 'Exception 1 closes': '20:00' });
    await press(page, 'Save');
    await expectToast(page, 'The opening hours were saved.');
    await page.locator('.column').first().locator('.closed').nth(1).waitFor({ state: 'attached' });
    const { weekly, exceptions } = await system.call<{ weekly: object; exceptions: object[] }>('GET', path);
    expect(weekly).toMatchObject({ monday: [open], saturday: [open, { opens: '23:00', closes: '02:00' }] });
    expect(weekly).not.toHaveProperty('sunday');
    expect(exceptions).toEqual([{ date, hours: [{ opens: '08:00', closes: '20:00' }] }]);

    await closed(page);
    await press(page, 'Opening hours');
    await system.call('PUT', path, { weekly: { monday: [open] }, exceptions: [] });
    await fill(page, { 'Tuesday opens': '08:00', 'Tuesday closes': '20:00' });
    await press(page, 'Save');
    await page.getByText(/Somebody else changed the opening hours: .*the entry for Tuesday/).waitFor();
    expect(await dialog(page).getByLabel('Tuesday closes').inputValue()).toBe('20:00');
    await press(page, 'Add an exception');
    await fill(page, { 'Exception 1 date': date });
    await press(page, 'Save');
    await dialog(page).getByText('Met, Bay 1, 10:00–11:00').waitFor();
    expect(await system.call('GET', path)).toMatchObject({ weekly: { monday: [open] }, exceptions: [] });
    await press(page, 'Save anyway');
    // The message of the first change may still be there.
    await closed(page);
    expect(await system.call('GET', path)).toMatchObject({
      weekly: { monday: [open], tuesday: [{ opens: '08:00', closes: '20:00' }] },
      exceptions: [{ date, hours: [] }],
    });
    await expectNames(page, 'Met', ['Met 10:00–11:00 outside the opening hours, Bay 1']);
    await system.call('DELETE', path);
  }, 120_000);

  test('changes of others appear, a page without a connection catches up, and a lost response changes nothing twice', async () => {
    const date = nextDay();
    const page = await system.open(queryOf(date), tall);
    const { id } = await book(date, 'bay-n1-01', 'Live', '10:00', '11:00');
    await booking(page, 'Live').waitFor({ timeout: feedMs });
    await system.call('DELETE', `/api/bookings/${id}`);
    await booking(page, 'Live').waitFor({ state: 'detached', timeout: feedMs });
    await page.context().setOffline(true);
    await page.getByText(/No connection since \d\d:\d\d/).waitFor();
    await press(page, 'Day after');
    await page.getByText('This day cannot be shown without a connection.').waitFor();
    await press(page, 'Sign out');
    await expectToast(page, 'You are still signed in');
    await press(page, 'Day before');
    await page.locator('.sheet').waitFor();
    await press(page, 'New booking');
    await fill(page, { Name: 'Typed' });
    await press(page, 'Book');
    await page.getByText('What you typed is still here').waitFor();
    await page.goBack();
    await dialog(page).getByText('Discard your changes?').waitFor();
    await press(page, 'Keep editing');
    await book(date, 'bay-n1-03', 'Meanwhile', '10:00', '11:00');
    // Retention does this 30 days after a deletion, if the deletion was the last change. A reader numbers the changes.
    await system.call('GET', '/api/booking-changes?facilityId=fac-north&latest=true');
    await system.query('bookings', "update facility set removed_change_number = change_number where id = 'fac-north'");
    const gone = page.waitForResponse((response) => response.status() === 410);
    await page.context().setOffline(false);
    await gone;
    await booking(page, 'Meanwhile').waitFor();
    await page.locator('.status', { hasText: 'Live' }).waitFor();

    let losesResponse = true;
    await page.route('**/api/booking*{,/**}', async (route) => {
      if (!losesResponse || route.request().method() === 'GET') return route.fallback();
      losesResponse = false;
      await route.fetch();
      await route.abort();
    });
    await press(page, 'Book');
    await expectNames(page, 'Typed', ['Typed 12:00–13:00, Bay 1']);
    await closed(page);
    await booking(page, 'Typed').click();
    await fill(page, { From: `${date}T11:00`, To: `${date}T12:00` });
    losesResponse = true;
    await press(page, 'Save');
    await page.getByText('There is no connection').waitFor();
    await press(page, 'Save');
    await expectToast(page, 'Saved.');
    await expectNames(page, 'Typed', ['Typed 11:00–12:00, Bay 1']);
  }, 180_000);

  test('typing dims what it does not find, a locked sheet changes nothing, and a search of all days reads every page', async () => {
    const date = nextDay();
    const metadata = { phone: '+45 1234', note: 'Left-handed' };
    await book(date, 'bay-n1-01', 'Søren', '10:00', '11:00', { metadata });
    await book(date, 'bay-n1-02', 'Grace', '10:00', '11:00');
    await close(date, 'bay-n1-03', 'Net torn', '12:00', '13:00');
    const page = await system.open(queryOf(date), { ...tall, username: 'both@example.com' });
    const search = page.getByLabel('Search', { exact: true });
    const dimmed = page.locator('.booking.filtered strong');
    for (const [text, expected] of [
      ['SØR', ['Grace']],
      ['left-h', ['Grace']],
      [' ', []],
      ['grac', ['Søren']],
    ] as const) {
      await search.fill(text);
      expect(await dimmed.allTextContents()).toEqual(expected);
      expect(await page.locator('.booking:visible, .closure:visible').count()).toBe(3);
    }
    await page.emulateMedia({ media: 'print' });
    await page.locator('.list tr', { hasText: 'Left-handed' }).waitFor();
    expect(await page.locator('.list:visible tr').count()).toBe(4);
    expect(await page.locator('.sheet').isVisible()).toBe(false);
    await page.emulateMedia({ media: null });
    await press(page, 'List');
    expect(await page.locator('.list tbody tr').allTextContents()).toEqual([
      '10:00–11:00Bay 1Søren+45 1234Left-handed',
      '10:00–11:00Bay 2Grace',
      '12:00–13:00Bay 3Closed: Net torn',
    ]);
    expect(await page.locator('.list .filtered').count()).toBe(1);
    expect(await findViolations(page)).toEqual([]);
    await press(page, 'Grid');
    await page.getByLabel('Lock the sheet').check();
    expect(await page.getByRole('button', { name: 'New booking' }).isDisabled()).toBe(true);
    await drag(page, ['bay-n1-02', 10.2], ['bay-n1-03', 15.2]);
    await expectNames(page, 'Grace', ['Grace 10:00–11:00, Bay 2']);

    await system.query(
      'bookings',
      `insert into booking (facility_id, id, location_id, bay_id, user_alias, start_date, end_date, created_at,
         last_updated_at)
       select facility_id, gen_random_uuid(), location_id, bay.id, 'Frequent', day, day + interval '1 hour', now(), now()
       from bay, generate_series(now() - interval '500 days', now() + interval '500 days', interval '18 days') day
       where bay.id in ('bay-n1-01', 'bay-s1-01')`,
    );
    await search.fill('FREQUENT');
    await press(page, 'Search all days');
    const results = dialog(page).locator('li');
    await results.nth(99).waitFor();
    await press(page, 'Show more');
    await results.nth(111).waitFor();
    await dialog(page).getByRole('button', { name: 'Show more' }).waitFor({ state: 'hidden' });
    expect(await results.count()).toBe(112);
    expect(await dialog(page).locator('h3').allTextContents()).toEqual(['Upcoming', 'Past']);
    const bay = page.locator('#bay');
    expect(await bay.inputValue()).toBe('Bay 2');
    await results.filter({ hasText: 'North Range' }).last().getByRole('button').click();
    await booking(page, 'Frequent').waitFor();
    // On a phone, only this bay is visible.
    expect(await bay.inputValue()).toBe('Bay 1');
  }, 120_000);

  test('people of two facilities choose, see what they may do there, and signing out ends the session', async () => {
    const both = await system.open('', { username: 'both@example.com' });
    await press(both, 'South Range: South Range');
    await both.waitForURL('**/day?location=loc-south-1&date=*');
    const page = await system.open('', { username: 'bot@north.example' });
    expect(await page.getByRole('button', { name: 'New booking' }).count()).toBe(1);
    expect(await page.getByRole('button', { name: 'Close bays' }).count()).toBe(0);
    for (const foreign of ['code=x&state=y', 'state=signed-out', 'error=access_denied']) {
      await page.goto(`${system.base}/day/?location=loc-north-2&date=2027-01-04&${foreign}`);
      await expectToast(page, 'It was ignored.');
      // The page shows the message before it leaves once more, for a token with fewer rights.
      await page.locator('.sheet').waitFor();
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

    const mixed = await system.open('', { username: 'mixed@example.com' });
    const closeBays = mixed.getByRole('button', { name: 'Close bays' });
    await closeBays.waitFor();
    await mixed.getByLabel('Location', { exact: true }).selectOption('Other facilities…');
    await press(mixed, 'South Range: South Range');
    await mixed.waitForURL('**/day?location=loc-south-1&date=*');
    await mixed.getByRole('button', { name: 'New booking' }).waitFor();
    expect(await closeBays.count()).toBe(0);
    await mixed.goto(`${system.base}/day?location=loc-gone`);
    await closeBays.waitFor();
    expect(new URL(mixed.url()).searchParams.get('location')).toBe('loc-north-1');
  }, 120_000);

  test('everything is accessible, fits at 390, 768 and 1280 pixels, light and dark, and on one page of paper', async () => {
    const date = nextDay();
    await book(date, 'bay-n1-01', 'Ada Lovelace', '10:00', '11:00', { externalBookingId: `REF-${date}` });
    // The picture in README.md is the screenshot of this grid.
    const players = ['Grace', 'Linus', 'Margaret', 'Ken', 'Barbara', 'Dennis', 'Radia', 'Tim'];
    for (const [index, name] of players.entries()) {
      const hour = 10 + ((index * 3) % 7);
      await book(date, `bay-n1-0${index + 2}`, name, `${hour}:30`, `${hour + 1}:30`);
    }
    await close(date, 'bay-n1-10', 'Net torn', '11:00', '13:00');
    await system.query('bookings', `update location set name = repeat('N', 256) where id = 'loc-north-2'`);
    const page = await system.open(queryOf(date));
    const invalid = async () => {
      await press(page, 'New booking');
      await press(page, 'Book');
      await page.getByText('The name is missing.').waitFor();
    };
    const states: readonly (readonly [string, () => Promise<void>])[] = [
      ['grid', async () => {}],
      ['new', invalid],
      ['booking', () => booking(page, 'Ada').press('Enter')],
      ['hours', () => press(page, 'Opening hours')],
      ['history', () => press(page, 'Changes')],
    ];
    // Colours depend on the scheme, and the layout on the width.
    const windows = [
      [390, 'light', true],
      [768, 'light', false],
      [1280, 'dark', true],
    ] as const;
    for (const [state, show] of states) {
      await show();
      if (state !== 'grid') await dialog(page).waitFor();
      for (const [width, colorScheme, isChecked] of windows) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme });
        const violations = isChecked ? await findViolations(page) : [];
        const overflows = await overflowsHorizontally(page);
        expect({ state, width, violations, overflows }).toEqual({ state, width, violations: [], overflows: false });
        await saveScreenshot(page, `day-sheet-${state}-${width}-${colorScheme}`);
      }
      await page.keyboard.press('Escape');
    }
    const pdf = (await page.pdf({ preferCSSPageSize: true })).toString('latin1');
    expect(pdf.match(/\/Type\s*\/Page\b/g)).toHaveLength(1);
  }, 180_000);

  test('a finger swipes to scroll and drags after a long press; a drag scrolls at the edge, and a rejected one says why', async () => {
    const date = nextDay();
    const { id } = await book(date, 'bay-n1-01', 'Finger', '03:35', '04:35');
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
    // What the finger holds stays until the finger leaves it.
    const moved = { userAlias: 'Finger', bayId: 'bay-n1-01', ...timesOf(date, '06:00', '07:00') };
    await system.call('PUT', `/api/bookings/${id}`, moved);
    await book(date, 'bay-n1-01', 'Later', '08:00', '09:00');
    await booking(page, 'Later').waitFor();
    await expectNames(page, 'Finger', ['Finger 03:35–04:35, Bay 1']);
    await touch('touchMove', box, 28);
    // A second finger changes nothing.
    await page.evaluate(`for (const type of ['pointermove', 'pointerup'])
      document.querySelector('.sheet').dispatchEvent(new PointerEvent(type, { buttons: 1, clientX: 90, clientY: 900 }))`);
    await page.locator('.selection', { hasText: '04:05–05:05' }).waitFor();
    await touch('touchEnd');
    await page.getByRole('alert').getByText('the start from 03:35 to 06:00').waitFor();
    await expectNames(page, 'Finger', ['Finger 06:00–07:00, Bay 1']);

    const other = nextDay();
    await book(other, 'bay-n1-03', 'Ada', '23:00', '23:59');
    await book(other, 'bay-n1-10', 'Edge', '12:00', '13:00');
    const wide = await system.open(queryOf(other));
    const [sheet, rejection] = [wide.locator('.sheet'), wide.locator('.rejection')];
    await booking(wide, 'Edge').scrollIntoViewIfNeeded();
    const boxes = [booking(wide, 'Edge'), sheet, wide.locator('.column[data-bay="bay-n1-03"]')];
    const [from, to, target] = await Promise.all(boxes.map((one) => one.boundingBox()));
    if (!from || !to || !target) throw new Error('the booking is not visible');
    await wide.mouse.move(from.x + 20, from.y + from.height / 2 + 4);
    await wide.mouse.down();
    await wide.mouse.move(target.x + 20, to.y + to.height - 10, { steps: 4 });
    await wide.locator('.selection', { hasText: '23:00–00:00' }).waitFor();
    await wide.mouse.up();
    await rejection.getByText('Bay 3 is booked from 23:00 by Ada.').waitFor();
    expect(await rejection.getAttribute('role')).toBe('alert');
    await expectNames(wide, 'Edge', ['Edge 12:00–13:00, Bay 10']);
    expect(await findViolations(wide)).toEqual([]);
    await sheet.press('Escape');
    expect(await rejection.count()).toBe(0);
  }, 120_000);

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
    const timeOf = async (act: () => Promise<unknown>) => {
      const begin = Date.now();
      await act();
      await page.locator('.booking').nth(2_999).waitFor({ state: 'attached' });
      return Date.now() - begin;
    };
    const drawn = await timeOf(() => page.reload());
    const transferred = (await Promise.all(sizes)).reduce((sum, { responseBodySize }) => sum + responseBodySize, 0);
    await press(page, 'Day before');
    await booking(page, 'Player').first().waitFor({ state: 'detached' });
    const turned = await timeOf(() => press(page, 'Day after'));
    process.stderr.write(
      `day sheet: 3000 bookings after ${drawn} ms with a sign-in (${transferred} bytes), ${turned} ms without\n`,
    );
    expect(transferred).toBeLessThan(2_000_000);
    await book(date, 'bay-big-0', 'Late', '22:00', '23:00');
    await booking(page, 'Late').waitFor({ timeout: feedMs });
  }, 120_000);

  test('an expired token and a step-up lead through auth and back to the same dialog, but not for another user', async () => {
    const date = nextDay();
    const page = await system.open(queryOf(date));
    await press(page, 'New booking');
    await fill(page, { Name: 'Expired', From: `${date}T09:00`, To: `${date}T10:00` });
    await check(page, 'Bay 4');
    await expire(page);
    const isBack = page.waitForEvent('framenavigated', (frame) => frame.url().startsWith(`${system.base}/day?`));
    await Promise.all([isBack, press(page, 'Book')]);
    await dialog(page).waitFor();
    expect(await dialog(page).getByLabel('Name').inputValue()).toBe('Expired');
    await press(page, 'Book');
    await expectNames(page, 'Expired', ['Expired 09:00–10:00 group, Bay 1', 'Expired 09:00–10:00 group, Bay 4']);

    await closed(page);
    await press(page, 'New booking');
    await fill(page, { Name: 'Secret' });
    await page.context().clearCookies();
    await expire(page);
    await press(page, 'Book');
    await signIn(page, 'both@example.com');
    await allow(page);
    expect(await dialog(page).count()).toBe(0);
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).not.toContain('Secret');

    await system.restartBookings({ STEP_UP: 'schedule' });
    await page.context().clearCookies();
    await page.goto(`${system.base}/day${queryOf('2027-01-04')}`);
    await signIn(page, 'secure@north.example');
    await allow(page);
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

    await system.query('auth', `update facility set requires_second_factor = true where id = 'fac-south'`);
    await page.context().clearCookies();
    await page.goto(`${system.base}/day`);
    await signIn(page, 'owner@south.example');
    await allow(page);
    await press(page, 'Sign in with a second factor');
    await page.getByRole('link', { name: 'Set up an authenticator app' }).waitFor();
    expect(new URL(page.url()).origin).toBe(system.issuer);
  }, 240_000);
});
