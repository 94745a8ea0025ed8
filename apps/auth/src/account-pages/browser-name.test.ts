// Tests how the account page names browsers by their User-Agent.
import { expect, test } from '@jest/globals';
import { describeBrowser } from './browser-name.ts';

const webKit = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';

test.each([
  ['Chrome on Linux', `Mozilla/5.0 (X11; Linux x86_64) ${webKit} Chrome/140.0 Safari/537.36`],
  ['Firefox on Windows', 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0'],
  [
    'Microsoft Edge on Windows',
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webKit} Chrome/140.0 Safari/537.36 Edg/140.0`,
  ],
  ['Safari on macOS', `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${webKit} Version/18.0 Safari/605.1.15`],
  [
    'Safari on iPhone',
    `Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) ${webKit} Version/18.0 Mobile Safari/604.1`,
  ],
  ['Chrome on iPad', `Mozilla/5.0 (iPad; CPU OS 18_0 like Mac OS X) ${webKit} CriOS/140.0 Mobile Safari/604.1`],
])('a User-Agent is shown as %s', (name, userAgent) => {
  expect(describeBrowser(userAgent)).toBe(name);
});

test.each([null, '', 'curl/8.0', '<script>'])('the User-Agent %j is shown as an unknown browser', (userAgent) => {
  expect(describeBrowser(userAgent)).toBe('Unknown browser');
});
