// Tests in Chromium how the day sheet says what is free: walk-ins, who is there now, free times, offers after refusals.
import { findViolations, overflowsHorizontally, saveScreenshot } from '@bay-booking/testkit/browser';
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
  fill,
  nextDay,
  press,
  queryOf,
  tall,
  toast,
} from './support/day-sheet-page.ts';
import { useDaySheet } from './support/day-sheet-system.ts';

describeInChromium('what is free in the day sheet', () => {
  const system = useDaySheet();
  afterEach(() => system.closePages());
  const book = (bayId: string, userAlias: string, startDate: string, endDate: string) =>
    system.call('POST', '/api/bookings', { bayId, userAlias, startDate, endDate });

  test('a walk-in takes three actions, also from another day, and one action says who is on which bay now', async () => {
    const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
    await book('bay-n1-01', 'Present', inMinutes(-60), inMinutes(10));
    await book('bay-n1-01', 'Next', inMinutes(10), inMinutes(70));
    for (const [name, query, expected] of [
      ['First', '?location=loc-north-1', 'Bay 2'],
      ['Second', queryOf(nextDay()), 'Bay 3'],
    ] as const) {
      const page = await system.open(query, tall);
      await press(page, 'Walk-in');
      await page.keyboard.type(name);
      await page.keyboard.press('Enter');
      await toast(page).filter({ hasText: 'Booked' }).waitFor();
      const search = `/api/bookings?userAlias=${name}`;
      const { items } = await system.call<{ items: { bayId: string; startDate: string }[] }>('GET', search);
      expect(items).toMatchObject([{ bayId: `bay-n1-0${expected.at(-1)}` }]);
      expect(Date.parse(items[0]?.startDate ?? '') % 300_000).toBe(0);
    }

    const page = await system.open('?location=loc-north-1', { viewport: { width: 390, height: 844 } });
    const sheet = page.locator('.sheet');
    const controls = page.locator('.toolbar :is(button, input):visible');
    expect(await controls.evaluateAll((all) => all.map(({ id }) => id))).toEqual(['walk-in', 'date', 'now', 'more']);
    const centres = await controls.evaluateAll((all) =>
      all.map((one) => one.getBoundingClientRect()).map(({ top, height }) => Math.round(top + height / 2)),
    );
    expect(Math.max(...centres) - Math.min(...centres)).toBeLessThan(3);
    for (const bay of ['Bay 1', 'Bay 2']) {
      await page.getByLabel('Bay', { exact: true }).selectOption(bay);
      expect(await page.locator('.now').evaluate((line) => line.getBoundingClientRect().bottom)).toBeLessThan(844);
    }
    await press(page, 'Now');
    const texts = page.locator('.at-now li');
    const clock = '\\d\\d:\\d\\d( CES?T)?';
    expect(await texts.nth(0).textContent()).toMatch(
      new RegExp(`^Bay 1Present until .*${clock}next: Next from .*${clock}$`),
    );
    expect(await texts.nth(1).textContent()).toMatch(new RegExp(`^Bay 2First until .*${clock}$`));
    expect(await texts.nth(3).textContent()).toMatch(/^Bay 4free/);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await findViolations(page)).toEqual([]);
      expect(await overflowsHorizontally(page)).toBe(false);
      await saveScreenshot(page, `day-sheet-now-390-${colorScheme}`);
    }
    await press(page, 'Now');
    await press(page, 'More');
    expect(await findViolations(page)).toEqual([]);
    await saveScreenshot(page, 'day-sheet-more-390-dark');
    await sheet.evaluate((element) => element.scrollTo(0, 0));
    await press(page, 'Today');
    expect(await page.locator('.now').evaluate((line) => line.getBoundingClientRect().bottom)).toBeLessThan(844);
  }, 120_000);

  test('a form says which bays are free, and a refusal offers the nearest bay and time', async () => {
    const date = nextDay();
    await book('bay-n1-01', 'Ada', at(date, '12:00'), at(date, '14:00'));
    const times = { startDate: at(date, '12:00'), endDate: at(date, '13:30') };
    await system.call('POST', '/api/booking-closures', { bayIds: ['bay-n1-02'], ...times });
    const page = await system.open(queryOf(date), tall);
    const choices = dialog(page).getByRole('group', { name: 'Bays', exact: true }).last();
    await press(page, 'New booking');
    await choices.getByText('closed until 13:30').waitFor();
    expect(await choices.innerText()).toMatch(
      /^Bay 1\s+booked until 14:00\s+Bay 2\s+closed until 13:30\s+Bay 3\s+free/,
    );
    expect(await choices.locator(':checked').getAttribute('value')).toBe('bay-n1-03');
    await fill(page, { Name: 'Follows', From: `${date}T13:00`, To: `${date}T13:30` });
    await fill(page, { From: `${date}T14:00`, To: `${date}T15:00` });
    await choices.locator('[value=bay-n1-01]:checked').waitFor();
    await fill(page, { From: `${date}T13:00`, To: `${date}T14:00` });
    await check(page, 'Bay 1');
    await check(page, 'Bay 3', false);
    await press(page, 'Book');
    await page.getByText('Bay 1 is booked from 12:00 by Ada.').waitFor();
    expect(await dialog(page).getByLabel('From', { exact: true }).getAttribute('aria-invalid')).toBe('true');
    expect(await dialog(page).locator('.offers button').allTextContents()).toEqual([
      'Take Bay 3, 13:00–14:00',
      'Take Bay 1, 14:00–15:00',
    ]);
    expect(await findViolations(page)).toEqual([]);
    await saveScreenshot(page, 'day-sheet-offers-1280-light');
    await press(page, 'Take Bay 1, 14:00–15:00');
    await closed(page);
    await expectNames(page, 'Follows', ['Follows 14:00–15:00, Bay 1']);

    await drag(page, ['bay-n1-01', 12.2], ['bay-n1-01', 13.2]);
    await page.mouse.up();
    await page.locator('.rejection').getByText('Bay 1 is booked from 14:00 by Follows.').waitFor();
    await press(page, 'Take Bay 3, 13:00–15:00');
    await expectNames(page, 'Ada', ['Ada 13:00–15:00, Bay 3']);
    await booking(page, 'Ada').click();
    const options = dialog(page).getByLabel('Bay', { exact: true }).locator('option');
    await options.filter({ hasText: 'Bay 1 · booked until 15:00' }).waitFor({ state: 'attached' });
    expect(await options.first().textContent()).toBe('Bay 3 · free');
    await fill(page, { From: `${date}T14:00`, To: `${date}T16:00` });
    await dialog(page).getByLabel('Bay', { exact: true }).selectOption('bay-n1-01');
    await press(page, 'Save');
    await press(page, 'Take Bay 1, 15:00–17:00');
    await expectNames(page, 'Ada', ['Ada 15:00–17:00, Bay 1']);
  }, 120_000);

  test('a time for several bays is found on several days, and one tap fills the form', async () => {
    const [date, next] = [nextDay(), nextDay()];
    for (const bay of ['2', '5', '8']) await book(`bay-n1-0${bay}`, 'Ada', at(date, '17:00'), at(date, '20:00'));
    const page = await system.open(queryOf(date), tall);
    const results = dialog(page).getByRole('listitem');
    await press(page, 'Find a time');
    await fill(page, {
      'How many bays': '3',
      'How long, in minutes': '120',
      'Not before': '18:00',
      'Not after': '20:00',
    });
    await press(page, 'Find times');
    await dialog(page).getByText('No time is free.').waitFor();
    await dialog(page).getByLabel('Next to each other').uncheck();
    await fill(page, { 'Last day': next });
    await press(page, 'Find times');
    await results.nth(1).waitFor();
    const day = new Date(next).toUTCString().slice(0, 7).replace(', 0', ', ');
    expect(await results.allTextContents()).toEqual([
      'Bay 1, Bay 3, Bay 4, 18:00–20:00',
      expect.stringMatching(`^Bay 1, Bay 2, Bay 3, ${day.replace(',', '')} .* 18:00–20:00$`),
    ]);
    expect(await findViolations(page)).toEqual([]);
    await saveScreenshot(page, 'day-sheet-find-1280-light');
    await results.nth(1).getByRole('button').click();
    await fill(page, { Name: 'Party' });
    await press(page, 'Book');
    await toast(page).filter({ hasText: '3 bookings were made.' }).waitFor();
    await press(page, 'Day after');
    await expectNames(
      page,
      'Party',
      ['Bay 1', 'Bay 2', 'Bay 3'].map((bay) => `Party 18:00–20:00 group, ${bay}`),
    );
  }, 120_000);
});
