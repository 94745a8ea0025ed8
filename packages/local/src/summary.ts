// Builds the summary that `npm start` prints: URLs, clients and accounts of the demo, and a command that creates a
// booking.
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
  if (hasDemo) lines.push(...demoLines, '', bookingCommands(issuer, baseUrl, scopeBase));
  return `${lines.join('\n')}\n\n`;
}

const demoLines = [
  '',
  'Demo clients (id / secret)',
  '  demo-pat-north / demo-pat-north-secret   personal access token of bot@north.example, for fac-north',
  '  demo-pat-south / demo-pat-south-secret   personal access token of bot@south.example, for fac-south',
  '  demo-pat-north-read / demo-pat-north-read-secret       the same, to read only',
  '  demo-pat-south-read / demo-pat-south-read-secret       the same, to read only',
  '  demo-pat-north-manage / demo-pat-north-manage-secret   of manager@north.example, also for opening hours',
  '  demo-pat-south-manage / demo-pat-south-manage-secret   of manager@south.example, also for opening hours',
  '  demo-web / demo-web-secret               confidential: code and refresh',
  '  demo-spa                                 public: code with PKCE, implicit',
  '  demo-native                              public: code, implicit, refresh, password, social_access_token',
  '  demo-range / demo-range-secret           driving range: code and refresh',
  '  demo-range-app                           public, driving range: code, refresh, social_access_token',
  '  demo-screen                              public, driving range: device code and refresh',
  '  demo-display                             public: device code and refresh, for examples/screen',
  '  demo-day-sheet                           public: code with PKCE, for the day sheet',
  '  demo-fapi                                FAPI 2.0: its key is packages/local/demo/demo-fapi.jwk.json',
  'Demo accounts (password)',
  '  owner@north.example, owner@south.example (demo-owner-pass)   player@example.com (demo-player-pass)',
  '  secure@north.example (demo-owner-pass), TOTP secret JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
  '  bot@north.example, bot@south.example, manager@north.example, manager@south.example (demo-bot-pass)',
  '',
  'Book a quarter of an hour, some time in the next year, by pasting this into another terminal:',
];

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
