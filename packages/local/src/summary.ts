// Builds the summary that `npm start` prints: URLs, clients and accounts of the demo, and a command that creates a
// booking.
import { readDemo } from './demo.ts';
import type { Settings } from './settings.ts';

interface DemoAddresses {
  readonly demoPage?: string | undefined;
  readonly standIns?: string | undefined;
}

export function summary(settings: Settings, databases: string, seconds: number, demo: DemoAddresses = {}): string {
  const { issuer, baseUrl, scopeBase, hasDemo } = settings;
  const lines = [
    '',
    `Bay Booking is ready after ${seconds.toFixed(1)} s. Ctrl-C stops everything.`,
    '',
    `  authorization server  ${issuer}`,
    `  its portal            ${issuer}/portal`,
    `  Bookings API          ${baseUrl}`,
    `  its documentation     ${baseUrl}/docs`,
    ...(hasDemo ? [`  the day sheet         ${baseUrl}/day`] : []),
    `  databases             ${databases}`,
  ];
  const { demoPage, standIns } = demo;
  if (demoPage) lines.push(`  demo page             ${demoPage}`, `  its mails             ${demoPage}/mail`);
  if (standIns) {
    lines.push(`  social access tokens  ${standIns}/google/native-token?user=100001`);
    lines.push(`                        ${standIns}/facebook/native-token?user=100001`);
  }
  if (hasDemo) lines.push(...demoLines(settings), '', bookingCommands(issuer, baseUrl, scopeBase));
  return `${lines.join('\n')}\n\n`;
}

function demoLines(settings: Settings): readonly string[] {
  const { clients, accounts } = readDemo(settings);
  const clientLines = clients.map(
    ({ client_id: id, client_secret: secret, client_name: name, grant_types: grants }) => {
      const credentials = secret ? `${id} / ${secret}` : id;
      return `  ${credentials.padEnd(52)} ${name}: ${grants.map((grant) => grant.split(':').at(-1)).join(', ')}`;
    },
  );
  const accountLines = accounts.map(
    ({ username, password, totpSecret }) =>
      `  ${username} (${password})${totpSecret ? `, TOTP secret ${totpSecret}` : ''}`,
  );
  return [
    ...['', 'Demo clients (id / secret)', ...clientLines],
    ...['Demo accounts (password)', ...accountLines],
    ...['', 'Book a quarter of an hour, some time in the next year, by pasting this into another terminal:'],
  ];
}

// The command books a random quarter of an hour (9e5 ms) between tomorrow (96 quarters from now) and a year later
// (35040 quarters). A repeated command therefore almost always finds another free time.
export const bookingCommands = (issuer: string, baseUrl: string, scopeBase: string): string =>
  [
    `TOKEN=$(curl -sS ${issuer}/connect/token -u demo-pat-north:demo-pat-north-secret \\`,
    `  -d grant_type=client_credentials -d scope=${scopeBase}/golf/bookings | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`,
    `SLOT=$(node -p 'Math.ceil(Date.now() / 9e5 + 96 + Math.random() * 35040) * 9e5')`,
    `curl -sS ${baseUrl}/api/bookings -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d "$(node -p "JSON.stringify({`,
    `  bayId: 'bay-n1-10', userAlias: 'Ada', startDate: new Date($SLOT), endDate: new Date($SLOT + 9e5) })")"; echo`,
  ].join('\n');
