// Tests in Chromium what a desk asks the day sheet: who is there now, what is free, how full the bays were, and bays.
import { readFile } from 'node:fs/promises';
import { findViolations, overflowsHorizontally, type Page, saveScreenshot } from '@bay-booking/testkit/browser';
import { afterEach, expect, test } from '@jest/globals';
import { describeInChromium } from './support/browser-system.ts';
import {
  at,
  booking,
  check,
  closed,
  dialog,
  drag,
  expectNames,
  expectToast,
  fill,
  nextDay,
  press,
  queryOf,
  tall,
} from './support/day-sheet-page.ts';
import { useDaySheet } from './support/day-sheet-system.ts';

const row = (page: Page, name: string) => page.getByRole('row', { name: new RegExp(`^${name}`) });
const phone = { viewport: { width: 390, height: 844 } };
const timeZone = 'Europe/Copenhagen';

describeInChromium('the desk', () => {
  const system = useDaySheet();
  afterEach(() => system.closePages());
  const book = (bayId: string, userAlias: string, startDate: string, endDate: string) =>
    system.call('POST', '/api/bookings', { bayId, userAlias, startDate, endDate });

  test('a walk-in takes three actions, also from another day, and one action says who is on which bay now', async () => {
    const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
    await book('bay-n1-01', 'Present', inMinutes(-60), inMinutes(10));
    await book('bay-n1-01', 'Next', inMinutes(10), inMinutes(70));
    const page = await system.open(queryOf(nextDay()), phone);
    // Scrolls to hours that are far from now. The sheet of another day must not keep this position.
    const far = new Date().getUTCHours() < 12 ? 9_999 : 1;
    await page.locator('.sheet').evaluate((sheet, top) => sheet.scrollTo(0, top), far);
    for (const [name, bayId] of [
      ['First', 'bay-n1-02'],
      ['Second', 'bay-n1-03'],
    ] as const) {
      await press(page, 'Walk-in');
      await page.keyboard.type(name);
      await page.keyboard.press('Enter');
      await expectToast(page, 'Booked');
      await closed(page);
      const search = `/api/bookings?userAlias=${name}`;
      const { items } = await system.call<{ items: { bayId: string; startDate: string }[] }>('GET', search);
      expect(items).toMatchObject([{ bayId }]);
      expect(Date.parse(items[0]?.startDate ?? '') % 300_000).toBe(0);
      await page.goto(`${system.base}/day?location=loc-north-1`);
      await page.locator('.sheet.today').waitFor();
    }
    const controls = page.locator('.toolbar :is(button, input):visible');
    expect(await controls.evaluateAll((all) => all.map(({ id }) => id))).toEqual(['walk-in', 'date', 'now', 'more']);
    const tops = await controls.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
    expect(Math.max(...tops) - Math.min(...tops)).toBeLessThan(3);
    const expectNow = () =>
      page.evaluate(`{
      const { top, height } = document.querySelector('.times').getBoundingClientRect();
      const { rows, now } = Object.fromEntries(['rows', 'now'].map((name) =>
        [name, Number(document.querySelector('.sheet').style.getPropertyValue('--' + name))]));
      const line = top + (height * now) / rows;
      if (line < 0 || line > innerHeight) throw new Error('the line for now is outside of the window');
    }`);
    await page.getByLabel('Bay', { exact: true }).selectOption('Bay 2');
    await expectNow();
    await press(page, 'Now');
    const texts = page.locator('.at-now li');
    const clock = '\\d\\d:\\d\\d( CES?T)?';
    // Before midnight, the next booking is on another day, which this sheet does not show.
    const dayIn = (minutes: number) => new Date(inMinutes(minutes)).toLocaleDateString('en', { timeZone });
    const next = dayIn(0) === dayIn(10) ? `next: Next from .*${clock}` : '';
    const present = new RegExp(`^Bay 1Present until .*${clock}${next}$`);
    expect(await texts.nth(0).textContent()).toMatch(present);
    expect(await texts.nth(1).textContent()).toMatch(new RegExp(`^Bay 2First until .*${clock}$`));
    expect(await texts.nth(3).textContent()).toMatch(/^Bay 4free/);
    expect(await findViolations(page)).toEqual([]);
    expect(await overflowsHorizontally(page)).toBe(false);
    await saveScreenshot(page, 'day-sheet-now-390-light');
    await press(page, 'Now');
    await page.emulateMedia({ colorScheme: 'dark' });
    await press(page, 'More');
    expect(await findViolations(page)).toEqual([]);
    await saveScreenshot(page, 'day-sheet-more-390-dark');
    await page.locator('.sheet').evaluate((element) => element.scrollTo(0, 0));
    await press(page, 'Today');
    await expectNow();
  }, 120_000);

  test('a form says which bays are free, a refusal offers the nearest bay, and a time for several bays is found', async () => {
    const [date, next] = [nextDay(), nextDay()];
    await book('bay-n1-01', 'Ada', at(date, '12:00'), at(date, '14:00'));
    const times = { startDate: at(date, '12:00'), endDate: at(date, '13:30') };
    await system.call('POST', '/api/booking-closures', { bayIds: ['bay-n1-02'], ...times });
    const hold = { bayId: 'bay-n1-03', startDate: at(date, '12:30'), endDate: at(date, '13:00'), holdSeconds: 900 };
    await system.call('POST', '/api/booking-holds', hold);
    const page = await system.open(queryOf(date), tall);
    const choices = dialog(page).getByRole('group', { name: 'Bays', exact: true }).last();
    await press(page, 'New booking');
    await choices.getByText('closed until 13:30').waitFor();
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
    await press(page, 'New booking');
    await choices.getByText('closed until 13:30').waitFor();
    expect(await choices.innerText()).toMatch(
      /^Bay 1\s+booked until 14:00\s+Bay 2\s+closed until 13:30\s+Bay 3\s+held\s+Bay 4\s+free/,
    );
    expect(await choices.locator(':checked').getAttribute('value')).toBe('bay-n1-04');
    await fill(page, { Name: 'Follows', From: `${date}T14:00`, To: `${date}T15:00` });
    await choices.locator('[value=bay-n1-01]:checked').waitFor();
    for (let times = 0; times < 2; times += 1) await page.keyboard.press('Escape');
    await dialog(page).getByText('Discard your changes?').waitFor();
    await press(page, 'Keep editing');
    await fill(page, { From: `${date}T13:00`, To: `${date}T14:00` });
    // The form chooses a bay until somebody else does.
    await choices.locator('[value=bay-n1-03]:checked').waitFor();
    await check(page, 'Bay 1');
    await check(page, 'Bay 3', false);
    await press(page, 'Book');
    await page.getByText('Bay 1 is booked from 12:00 by Ada.').waitFor();
    expect(await dialog(page).getByLabel('From', { exact: true }).getAttribute('aria-invalid')).toBe('true');
    const offers = ['Take Bay 3, 13:00–14:00', 'Take Bay 1, 14:00–15:00'] as const;
    expect(await dialog(page).locator('.offers button').allTextContents()).toEqual(offers);
    expect(await findViolations(page)).toEqual([]);
    await saveScreenshot(page, 'day-sheet-offers-1280-light');
    await press(page, offers[1]);
    await expectNames(page, 'Follows', ['Follows 14:00–15:00, Bay 1']);
    await drag(page, ['bay-n1-01', 12.2], ['bay-n1-01', 13.2]);
    await page.locator('.rejection').getByText('Bay 1 is booked from 14:00 by Follows.').waitFor();
    await press(page, 'Take Bay 3, 13:00–15:00');
    await expectNames(page, 'Ada', ['Ada 13:00–15:00, Bay 3']);
    await booking(page, 'Ada').click();
    const options = dialog(page).getByLabel('Bay', { exact: true }).locator('option');
    await options.filter({ hasText: 'Bay 1 · booked until 15:00' }).waitFor({ state: 'attached' });
    expect(await options.first().textContent()).toBe('Bay 3 · free');
    await page.keyboard.press('Escape');
    await closed(page);

    for (const bay of ['2', '5', '8']) await book(`bay-n1-0${bay}`, 'Ada', at(date, '17:00'), at(date, '20:00'));
    const results = dialog(page).getByRole('listitem');
    await press(page, 'Find a time');
    await fill(page, { 'How many bays': '3', 'How long, in minutes': '120' });
    await fill(page, { 'Not before': '18:00', 'Not after': '20:00' });
    await press(page, 'Find times');
    await dialog(page).getByText('No time is free.').waitFor();
    await dialog(page).getByLabel('Next to each other').uncheck();
    await fill(page, { 'Last day': next });
    await press(page, 'Find times');
    await results.nth(1).waitFor();
    const day = new Date(next).toUTCString().slice(0, 7).replace(', 0', ', ').replace(',', '');
    expect(await results.allTextContents()).toEqual([
      'Bay 1, Bay 3, Bay 4, 18:00–20:00',
      expect.stringMatching(`^Bay 1, Bay 2, Bay 3, ${day} .* 18:00–20:00$`),
    ]);
    expect(await findViolations(page)).toEqual([]);
    await results.nth(1).getByRole('button').click();
    await fill(page, { Name: 'Party' });
    await press(page, 'Book');
    await expectToast(page, `3 bookings were made. The first: ${day}`);
    await press(page, 'Day after');
    const bays = ['Bay 1', 'Bay 2', 'Bay 3'];
    await expectNames(
      page,
      'Party',
      bays.map((bay) => `Party 18:00–20:00 group, ${bay}`),
    );
  }, 120_000);

  test('Usage compares weeks and months and downloads the CSV of the API; Bays renames a bay and takes it out of service', async () => {
    // A Tuesday, and the one before.
    const [date, before] = ['2031-01-14', '2031-01-07'];
    await book('bay-n1-01', 'Ada', at(date, '10:00'), at(date, '12:30'));
    await book('bay-n1-01', 'Ada', at(before, '10:00'), at(before, '11:00'));
    const { id } = await book('bay-n1-02', 'Grace', at(date, '10:00'), at(date, '11:00'));
    await system.call('DELETE', `/api/bookings/${id}`);
    const hours = { weekly: { tuesday: [{ opens: '08:00', closes: '18:00' }] }, exceptions: [] };
    await system.call('PUT', '/api/booking-locations/loc-north-1/opening-hours', hours);
    const bays = (await system.call<{ total: number }>('GET', '/api/booking-bays?locationId=loc-north-1')).total;
    const percent = (part: number) => `${Math.round(part * 1_000) / 10}%`;

    const page = await system.open(queryOf(date));
    await press(page, 'Usage');
    const cells = [percent(0.25 / bays), percent(0.1 / bays), '2.5 h', `${bays * 10} h`, '1', '1', '0'];
    await row(page, 'Tue 14 Jan').waitFor();
    const cellsOf = (name: string) => row(page, name).locator('th, td').allTextContents();
    expect(await cellsOf('Tue 14 Jan')).toEqual(['Tue 14 Jan', ...cells]);
    expect(await row(page, 'Mon 13 Jan').textContent()).toBe('Mon 13 Janclosedclosed0 h0 h000');
    expect(await cellsOf('Total')).toEqual(['Total', ...cells]);
    const downloading = page.waitForEvent('download');
    await press(page, 'Download CSV');
    const lines = (await readFile(await (await downloading).path(), 'utf8')).split('\r\n');
    expect(lines[0]).toBe('key,bookings,bookedMinutes,openMinutes,occupancy,cancelled,noShows');
    expect(lines[2]).toBe(`2031-01-14,1,150,${bays * 600},${Math.round((0.25 / bays) * 10_000) / 10_000},1,0`);

    const by = page.getByLabel('By', { exact: true });
    await by.focus();
    await by.selectOption('Bay');
    await row(page, 'Bay 2').waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('by');
    await by.selectOption('Program');
    await page.getByRole('columnheader', { name: 'Program' }).waitFor();
    expect(await page.locator('tbody th').first().textContent()).toMatch(/^\w[^(]+ \(.+\)$/);
    for (const [width, colorScheme] of [
      [390, 'dark'],
      [1280, 'light'],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 850 });
      await saveScreenshot(page, `usage-${width}-${colorScheme}`);
      expect([await findViolations(page), await overflowsHorizontally(page)]).toEqual([[], false]);
    }
    await page.getByLabel('Period').selectOption('Month');
    await page.getByText('January 2031', { exact: false }).first().waitFor();
    await press(page, 'The month before');
    await page.getByText('December 2030', { exact: false }).first().waitFor();
    // The browser's Back button leads back through what was shown.
    await page.goBack();
    await page.getByText('January 2031', { exact: false }).first().waitFor();
    await press(page, 'Back to the day');
    await page.locator('.sheet').waitFor();
    expect(page.url()).toBe(`${system.base}/day${queryOf(date)}`);
    await system.call('DELETE', '/api/booking-locations/loc-north-1/opening-hours');

    await book('bay-n1-04', 'Ada', at(date, '15:00'), at(date, '16:00'));
    const openBay = async (name: string) => {
      await press(page, 'Bays');
      await dialog(page).getByRole('button', { name, exact: true }).click();
    };
    await openBay('Bay 4');
    await fill(page, { Name: '' });
    await press(page, 'Save');
    await dialog(page).locator('#field-name[aria-invalid]').waitFor();
    const saved = { name: 'Coach <b>1</b>', description: 'Screen and\nmat', bookable: false };
    await fill(page, { Name: saved.name, Description: saved.description });
    await check(page, 'Out of service');
    await press(page, 'Save');
    await dialog(page).getByText('Nothing is saved yet. Bookings of this bay: 1.').waitFor();
    expect(await dialog(page).getByRole('listitem').textContent()).toMatch(/^Ada, Bay 4, .*15:00–16:00$/);
    expect(await findViolations(page)).toEqual([]);
    await press(page, 'Save anyway');
    await page.locator('.bay-name', { hasText: saved.name }).waitFor();
    expect(await system.call('GET', '/api/booking-bays/bay-n1-04')).toMatchObject(saved);
    await closed(page);
    await openBay('Coach <b>1</b>, out of service');
    const change = { name: 'Bay 4', description: 'A new net', bookable: false };
    await system.call('PUT', '/api/booking-bays/bay-n1-04', change);
    await check(page, 'Out of service', false);
    await press(page, 'Save');
    await dialog(page).getByText('Somebody else changed the bay: the name from Coach <b>1</b> to Bay 4').waitFor();
    await press(page, 'Save');
    await closed(page);
    expect(await system.call('GET', '/api/booking-bays/bay-n1-04')).toMatchObject({ ...change, bookable: true });
  }, 120_000);
});
