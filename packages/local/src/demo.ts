// Reads the demo's import file of each app and explains why the demo is not loaded.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isLoopback } from '@bay-booking/service/public-address';
import { type AppName, isLoopbackHost, type Settings } from './settings.ts';

/** `baseUrl` is the base URL of bookings, which serves the day sheet. */
export function demoData(app: AppName, { scopeBase, baseUrl }: Pick<Settings, 'scopeBase' | 'baseUrl'>): string {
  const text = readFileSync(join(import.meta.dirname, '../demo', `${app}.json`), 'utf8');
  return text.replaceAll('{scope_base}', scopeBase).replaceAll('{bookings_url}', baseUrl);
}

export const demoAccountIds = (): readonly string[] =>
  JSON.parse(demoData('auth', { scopeBase: '', baseUrl: '' })).accounts.map(({ id }: { id: string }) => id);

export const publishedPasswords = 'and the passwords of the demo are published';

/** Returns why the demo is not loaded: ISSUER or HOST is not a loopback address, or NODE_ENV is production. */
export function reasonForNoDemo({ host, issuer }: Settings): string {
  if (!isLoopback(issuer)) return `ISSUER is ${issuer}, ${publishedPasswords}, so it is only for loopback addresses`;
  if (isLoopbackHost(host)) return 'NODE_ENV is production';
  return `HOST is ${host}, ${publishedPasswords}, so it needs a loopback address or DEMO=yes`;
}
