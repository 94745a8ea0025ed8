// Reads the data of the demo as import files of the two apps.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AppName } from './settings.ts';

export function demoData(app: AppName, scopeBase: string): string {
  return readFileSync(join(import.meta.dirname, '../demo', `${app}.json`), 'utf8').replaceAll(
    '{scope_base}',
    scopeBase,
  );
}
