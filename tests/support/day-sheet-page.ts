// What tests of the day sheet do with its page, as the people at a range do.
import { isDeepStrictEqual } from 'node:util';
import type { Page } from '@bay-booking/testkit/browser';
import { eventually } from '@bay-booking/testkit/wait';

// Each test has a day of its own, so tests do not see the bookings of others. The days are in the future and in winter.
let days = 0;
const nextYear = new Date().getFullYear() + 1;
export const nextDay = (): string => new Date(Date.UTC(nextYear, 0, 4 + days++)).toISOString().slice(0, 10);
/** The first day of a series of up to three weeks. The other tests have their days in January. */
export const seriesDay = `${nextYear}-02-08`;
export const at = (date: string, time: string): string => `${date}T${time}:00+01:00`;
export const queryOf = (date: string, location = 'loc-north-1'): string => `?location=${location}&date=${date}`;

export const booking = (page: Page, name: string) => page.locator('.booking', { hasText: name });
export const namesOf = async (page: Page, name: string) => {
  const bookings = await booking(page, name).all();
  return Promise.all(bookings.map((one) => one.getAttribute('aria-label')));
};
/** The feed takes less than 2 s if the machine is idle. The page reads the rest of the day only every 45 s. */
export const feedMs = 15_000;

/** Waits, because a saved change can appear after the message that it was saved. */
export async function expectNames(page: Page, name: string, expected: readonly string[]): Promise<void> {
  const sorted = async () => (await namesOf(page, name)).toSorted();
  await eventually(sorted, (names) => isDeepStrictEqual(names, expected));
}
export const dialog = (page: Page) => page.getByRole('dialog');
/** Waits until a form is closed and the focus is back. A saved form closes only when the sheet shows the change. */
export const closed = (page: Page) => page.locator('dialog').waitFor({ state: 'detached' });
export const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
export const expectToast = (page: Page, text: string) =>
  page.locator('.toast span').filter({ hasText: text }).waitFor();
export const check = (page: Page, bay: string, checked = true) =>
  dialog(page).getByRole('checkbox', { name: bay, exact: true }).setChecked(checked);

export async function fill(page: Page, values: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(values))
    await dialog(page).getByLabel(label, { exact: true }).fill(value);
}

/** Drags from a bay and an hour to another bay and hour. */
export async function drag(page: Page, from: readonly [string, number], to: readonly [string, number]): Promise<void> {
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
  await page.mouse.up();
}

/** The page thinks that its access token has expired. Only its own clock decides about this. */
export const expire = (page: Page) => page.evaluate('{ const now = Date.now; Date.now = () => now() + 7_200_000; }');

/** A tall window shows the whole day, so no test has to scroll. */
export const tall = { viewport: { width: 1280, height: 1_700 } };

export const phone = { viewport: { width: 390, height: 1_400 }, hasTouch: true, isMobile: true };

interface Box {
  readonly x: number;
  readonly y: number;
}

/** Shows the begin of the day. Returns where a booking is. */
export async function scrollToTop(page: Page, name: string): Promise<Box> {
  await page.evaluate(`document.querySelector('.sheet').scrollTo(0, 0)`);
  const box = await booking(page, name).boundingBox();
  if (!box) throw new Error(`no booking of ${name}`);
  return box;
}

/** Returns a function that touches a booking. `down` is the way of the finger in pixels. */
export async function createFinger(page: Page) {
  const devtools = await page.context().newCDPSession(page);
  return (type: 'touchStart' | 'touchMove' | 'touchEnd', { x, y }: Box = { x: 0, y: 0 }, down = 0) => {
    const touchPoints = type === 'touchEnd' ? [] : [{ x: x + 40, y: y + 10 + down }];
    return devtools.send('Input.dispatchTouchEvent', { type, touchPoints });
  };
}
