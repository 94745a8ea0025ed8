// Tests what the owner of a range does on the day sheet: read how full the bays were, and change the bays.
import { readFile } from 'node:fs/promises';
import { findViolations, overflowsHorizontally, type Page, saveScreenshot } from '@bay-booking/testkit/browser';
import { afterEach, expect, test } from '@jest/globals';
import { describeInChromium } from './support/browser-system.ts';
import { at, check, closed, dialog, fill, press, queryOf, toast } from './support/day-sheet-page.ts';
import { useDaySheet } from './support/day-sheet-system.ts';

const row = (page: Page, name: string) => page.getByRole('row', { name: new RegExp(`^${name}`) });

describeInChromium('the range on the day sheet', () => {
  const system = useDaySheet();
  afterEach(() => system.closePages());
  const book = (bayId: string, userAlias: string, date: string, from: string, to: string) =>
    system.call('POST', '/api/bookings', { bayId, userAlias, startDate: at(date, from), endDate: at(date, to) });

  test('Usage compares weeks and months, by day, bay and program, with names, and downloads the CSV of the API', async () => {
    // A Tuesday, and the one before.
    const [date, before] = ['2031-01-14', '2031-01-07'];
    await book('bay-n1-01', 'Ada', date, '10:00', '12:30');
    await book('bay-n1-01', 'Ada', before, '10:00', '11:00');
    const { id } = await book('bay-n1-02', 'Grace', date, '10:00', '11:00');
    await system.call('DELETE', `/api/bookings/${id}`);
    const hours = { weekly: { tuesday: [{ opens: '08:00', closes: '18:00' }] }, exceptions: [] };
    await system.call('PUT', '/api/booking-locations/loc-north-1/opening-hours', hours);
    const bays = (await system.call<{ total: number }>('GET', '/api/booking-bays?locationId=loc-north-1')).total;
    const percent = (part: number) => `${Math.round(part * 1_000) / 10}%`;

    const page = await system.open(queryOf(date));
    await press(page, 'Usage');
    const cells = ['Tue 14 Jan', percent(0.25 / bays), percent(0.1 / bays), '2.5 h', `${bays * 10} h`, '1', '1', '0'];
    await row(page, 'Tue 14 Jan').waitFor();
    expect(await row(page, 'Tue 14 Jan').locator('th, td').allTextContents()).toEqual(cells);
    expect(await row(page, 'Mon 13 Jan').textContent()).toBe('Mon 13 Janclosedclosed0 h0 h000');
    expect(await row(page, 'Total').locator('th, td').allTextContents()).toEqual(['Total', ...cells.slice(1)]);
    await saveScreenshot(page, 'usage-by-day');
    const downloading = page.waitForEvent('download');
    await press(page, 'Download CSV');
    const lines = (await readFile(await (await downloading).path(), 'utf8')).split('\r\n');
    expect(lines[0]).toBe('key,bookings,bookedMinutes,openMinutes,occupancy,cancelled,noShows');
    expect(lines[2]).toBe(`2031-01-14,1,150,${bays * 600},${Math.round((0.25 / bays) * 10_000) / 10_000},1,0`);

    await page.getByLabel('By', { exact: true }).focus();
    await page.getByLabel('By', { exact: true }).selectOption('Bay');
    await row(page, 'Bay 2').waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('by');
    await page.getByLabel('By', { exact: true }).selectOption('Program');
    await page.getByRole('columnheader', { name: 'Program' }).waitFor();
    const [program] = await page.locator('tbody th').allTextContents();
    expect(program).toMatch(/^\w[^(]+ \(.+\)$/);
    for (const [width, colorScheme, height] of [
      [390, 'dark', 800],
      [1280, 'light', 900],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height });
      await saveScreenshot(page, `usage-${width}-${colorScheme}`);
      expect([await findViolations(page), await overflowsHorizontally(page)]).toEqual([[], false]);
    }
    await page.getByLabel('Period').selectOption('Month');
    await page.getByText('January 2031', { exact: false }).first().waitFor();
    await page.getByLabel('By', { exact: true }).selectOption('Day');
    await row(page, 'Fri 31 Jan').waitFor();
    await press(page, 'The month before');
    await page.getByText('December 2030', { exact: false }).first().waitFor();
    // The browser's Back button leads back through what was shown.
    for (const text of ['January 2031', 'January 2031', '13–19 Jan 2031']) {
      await page.goBack();
      await page.getByText(text, { exact: false }).first().waitFor();
    }
    await press(page, 'Back to the day');
    await page.locator('.sheet').waitFor();
    expect(page.url()).toBe(`${system.base}/day${queryOf(date)}`);
  }, 60_000);

  test('Bays: rename, out of service after its bookings are listed, and what somebody else changed', async () => {
    await book('bay-n1-04', 'Ada', '2031-02-04', '10:00', '11:00');
    const page = await system.open(queryOf('2031-02-04'));
    const openBay = async (name: string) => {
      await press(page, 'Bays');
      await dialog(page).getByRole('button', { name, exact: true }).click();
    };
    await openBay('Bay 4');
    await fill(page, { Name: '' });
    await press(page, 'Save');
    await dialog(page).locator('#field-name[aria-invalid]').waitFor();
    await fill(page, { Name: 'Coach <b>1</b>', Description: 'Screen and\nmat' });
    await check(page, 'Out of service');
    await press(page, 'Save');
    await dialog(page).getByText('Nothing is saved yet. Bookings of this bay: 1.').waitFor();
    expect(await dialog(page).getByRole('listitem').textContent()).toMatch(/^Ada, Bay 4, .*10:00–11:00$/);
    await saveScreenshot(page, 'bay-out-of-service');
    expect(await findViolations(page)).toEqual([]);
    await press(page, 'Save anyway');
    await closed(page);
    await page.locator('.bay-name', { hasText: 'Coach <b>1</b>' }).waitFor();
    expect(await system.call('GET', '/api/booking-bays/bay-n1-04')).toMatchObject({
      name: 'Coach <b>1</b>',
      description: 'Screen and\nmat',
      bookable: false,
    });
    await openBay('Coach <b>1</b>, out of service');
    const change = { name: 'Bay 4', description: 'A new net', bookable: false };
    await system.call('PUT', '/api/booking-bays/bay-n1-04', change);
    await check(page, 'Out of service', false);
    await press(page, 'Save');
    await dialog(page).getByText('Someone else changed the bay: the name from Coach <b>1</b> to Bay 4').waitFor();
    expect(await dialog(page).getByLabel('Name').inputValue()).toBe('Bay 4');
    await press(page, 'Save');
    await toast(page).getByText('The bay was saved.').waitFor();
    await closed(page);
    expect(await system.call('GET', '/api/booking-bays/bay-n1-04')).toMatchObject({ ...change, bookable: true });
  }, 60_000);
});
