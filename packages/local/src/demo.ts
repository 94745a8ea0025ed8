// Reads the import files of the demo, one for each app, and explains why the demo is not loaded.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isLoopback } from '@bay-booking/service/public-address';
import type { AppName, Settings } from './settings.ts';

export function demoData(app: AppName, scopeBase: string): string {
  const text = readFileSync(join(import.meta.dirname, '../demo', `${app}.json`), 'utf8');
  return text.replaceAll('{scope_base}', scopeBase);
}

/** Returns why the demo is not loaded: the issuer is not a loopback address, or else NODE_ENV is production. */
export const reasonForNoDemo = ({ issuer }: Settings): string =>
  isLoopback(issuer)
    ? 'NODE_ENV is production'
    : `ISSUER is ${issuer}, and the passwords of the demo are published, so it is only for loopback addresses`;
