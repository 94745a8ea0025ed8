// Reads the files of the demo and says why the demo is not loaded.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isLoopback, isLoopbackHost } from '@bay-booking/service/public-address';
import type { AppName, Settings } from './settings.ts';

export interface Client {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly client_name: string;
  readonly grant_types: readonly string[];
  readonly response_types: readonly string[];
  readonly redirect_uris: readonly string[];
  readonly post_logout_redirect_uris?: readonly string[];
  readonly scope: string;
  readonly pkce?: 'required' | 'optional';
  readonly profile?: 'fapi2';
}

interface Account {
  readonly id: string;
  readonly username: string;
  readonly password: string;
  readonly totpSecret?: string;
}

type Addresses = Pick<Settings, 'scopeBase' | 'baseUrl'>;

/** Returns the import file of an app. `baseUrl` is the base URL of bookings, which serves the day sheet. */
export function demoData(app: AppName, { scopeBase, baseUrl }: Addresses): string {
  const text = readFileSync(join(import.meta.dirname, '../demo', `${app}.json`), 'utf8');
  return text.replaceAll('{scope_base}', scopeBase).replaceAll('{bookings_url}', baseUrl);
}

export function readDemo(addresses: Addresses): { clients: readonly Client[]; accounts: readonly Account[] } {
  const { clients, accounts } = JSON.parse(demoData('auth', addresses)) as {
    clients: Partial<Client>[];
    accounts: Account[];
  };
  // Personal access tokens may leave out these fields. Every token can read.
  const token = {
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
    scope: `${addresses.scopeBase}/golf/bookings.read`,
  };
  return { accounts, clients: clients.map((client) => ({ ...token, ...client }) as Client) };
}

export const publishedPasswords = 'and the passwords of the demo are published';

/** The demo is not loaded if ISSUER or HOST is not a loopback address, or if NODE_ENV is production. */
export function reasonForNoDemo({ host, issuer }: Settings): string {
  if (!isLoopback(issuer)) return `ISSUER is ${issuer}, ${publishedPasswords}, so it is only for loopback addresses`;
  if (isLoopbackHost(host)) return 'NODE_ENV is production';
  return `HOST is ${host}, ${publishedPasswords}, so it needs a loopback address or DEMO=yes`;
}
