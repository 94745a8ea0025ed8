// The portal as its users meet it: an authorization server with two facilities and their people, a mail server, and a browser without
// scripts for each visitor.

import { type FormBrowser, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { type SmtpSink, startSmtpSink } from '@bay-booking/testkit/smtp-sink';
import { decodeJwt } from 'jose';
import { type AuthServer, scopes, startAuthServer, statusAndBody } from './auth-server.ts';

export const password = 'demo-person-pass';

const person = (
  id: string,
  memberships: readonly (readonly [string, 'owner' | 'staff' | 'bookings-manager'])[],
  kind: 'user' | 'service' = 'user',
) => ({
  id: `acc-${id}`,
  username: `${id}@range.example`,
  password,
  name: `Name of ${id}`,
  email: `${id}@range.example`,
  emailVerified: true,
  kind,
  memberships: memberships.map(([facilityId, role]) => ({ facilityId, role })),
});

const people = [
  person('owner', [['fac-north', 'owner']]),
  person('partner', [['fac-north', 'owner']]),
  person('staff', [['fac-north', 'staff']]),
  person('southerner', [['fac-south', 'staff']]),
  person('chain', [
    ['fac-north', 'owner'],
    ['fac-south', 'owner'],
  ]),
  person('nobody', []),
  person('bot', [['fac-north', 'bookings-manager']], 'service'),
  person('south-bot', [['fac-south', 'bookings-manager']], 'service'),
] as const;

export interface PortalWorld {
  readonly server: AuthServer;
  readonly sink: SmtpSink;
  readonly visitor: () => FormBrowser;
  /** Signs in at a page of the portal and answers the page that follows. */
  readonly signIn: (name: string, path?: string) => Promise<{ browser: FormBrowser; page: Page }>;
  readonly linkFor: (email: string, earlier?: string) => Promise<string>;
  readonly token: (clientId: string, clientSecret: string) => Promise<Record<string, unknown>>;
  readonly facilitiesIn: (answer: Record<string, unknown>) => unknown;
  /** As if the account's owner had signed in, and last done something, so many minutes ago. */
  readonly age: (name: string, minutes: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function openPortalWorld(): Promise<PortalWorld> {
  const sink = await startSmtpSink();
  const server = await startAuthServer({ SMTP_URL: sink.url });
  await server.load({ accounts: people.map((account) => ({ ...account, memberships: [...account.memberships] })) });
  const visitor = () => openFormBrowser([server.origin]);
  return {
    server,
    sink,
    visitor,
    async signIn(name, path = '/portal') {
      const browser = visitor();
      const form = await browser.open(server.origin + path);
      const page = await browser.send(form, { username: `${name}@range.example`, password });
      return { browser, page };
    },
    async linkFor(email, earlier) {
      const of = (text: string) => /http\S+\/portal\/invitation\?token=[\w-]+/.exec(text)?.[0];
      const mail = await sink.mailTo(email, ({ text }) => of(text) !== undefined && of(text) !== earlier);
      return of(mail.text) as string;
    },
    token: async (clientId, clientSecret) =>
      statusAndBody(
        await server.post('/connect/token', {
          grant_type: 'client_credentials',
          client_id: clientId,
          client_secret: clientSecret,
          scope: scopes.bookings,
        }),
      ),
    facilitiesIn: (answer) => decodeJwt(String(answer.access_token)).facilities,
    async age(name, minutes) {
      const accountId = `acc-${name}`;
      await server.db.raw(
        `update oidc_artifact set payload = jsonb_set(payload, '{loginTs}', to_jsonb(extract(epoch from now())::int - ?::int))
          where model = 'Session' and account_id = ?`,
        [minutes * 60, accountId],
      );
      await server.db.raw(
        `update browser_session set seen_at = now() - make_interval(mins => ?), signed_in_at = now() - make_interval(mins => ?)
          where account_id = ?`,
        [minutes, minutes, accountId],
      );
    },
    async close() {
      await server.close();
      await sink.close();
    },
  };
}

/** The page with the form for `action` alone, filled in; fields that the form does not have are added, as a forger would. */
export function filled(page: Page, action: string, values: Record<string, string> = {}): Page {
  const form = page.forms.find((entry) => new URL(entry.action).pathname.endsWith(action));
  if (!form) throw new Error(`no form for ${action} at ${page.url}:\n${page.html}`);
  const kept = form.fields.filter(({ name }) => !(name in values));
  const added = Object.entries(values).map(([name, value]) => ({ name, value, type: 'text', checked: false }));
  return { ...page, forms: [{ ...form, fields: [...kept, ...added] }] };
}

/** A form that no page of ours has, sent from this one. */
export const forged = (page: Page, action: string, values: Record<string, string>): Page => ({
  ...page,
  forms: [
    {
      action: new URL(action, page.url).href,
      method: 'post',
      buttons: [],
      fields: Object.entries(values).map(([name, value]) => ({ name, value, type: 'hidden', checked: false })),
    },
  ],
});

export const tokenOf = (page: Page, action: string): string =>
  filled(page, action).forms[0]?.fields.find(({ name }) => name === 'csrf')?.value ?? '';

export const fieldOf = (page: Page, name: string): string | undefined =>
  page.forms.flatMap(({ fields }) => fields).find((field) => field.name === name)?.value;

/** The text of the element with this id. */
export const textById = (page: Page, id: string): string =>
  new RegExp(`id="${id}"[^>]*>([^<]*)<`).exec(page.html)?.[1] ?? '';
