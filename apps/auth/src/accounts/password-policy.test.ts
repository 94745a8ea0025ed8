// Tests which new passwords are accepted.
import { describe, expect, test } from '@jest/globals';
import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common';
import { validateNewPassword } from './password-policy.ts';

async function durationOf(work: () => unknown): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

describe('validateNewPassword', () => {
  test.each([
    'password1',
    '1234567890',
    'qwertyuiop',
    'iloveyou1',
    'Passw0rd!',
    'aaaaaaaaaaaa',
    'golfgolf',
    'letmein123',
  ])('a password that is easy to guess is rejected: %s', async (password) => {
    expect(await validateNewPassword(password, [])).toMatch(/first that an attacker would try/);
  });

  test('a password that is little more than a part of the name or the e-mail address of the user is rejected', async () => {
    const about = ['Jonathan Greenkeeper', 'greenkeeper@north.example'];
    expect(await validateNewPassword('greenkeeper', about)).toBeDefined();
    expect(await validateNewPassword('jonathan1', about)).toBeDefined();
  });

  test('a password that is too short, too long or empty is rejected', async () => {
    expect(await validateNewPassword('xK3#pQz', [])).toMatch(/8 characters/);
    expect(await validateNewPassword('ab c'.repeat(100), [])).toMatch(/256 characters/);
    expect(await validateNewPassword('', [])).toBeDefined();
  });

  test.each(['correct horse battery', 'lampe fenster regal', 'звёзды над полем', '88213067745190'])(
    'a strong password with any kinds of characters is accepted: %s',
    async (password) => {
      expect(await validateNewPassword(password, ['player@example.com'])).toBeUndefined();
    },
  );

  const withDefaultLimits = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
  // These passwords have many characters that can stand for letters, such as `@` for `a`, or many repetitions.
  test.each(['4@8({[<369&#!1/|0$5+7%2', '1l!|3e@4a$5s0o7t'.repeat(5), 'abcdefgh1!'.repeat(25), '2020-01-01'.repeat(8)])(
    'a password that is expensive to estimate takes at most half as long as with the default limits of zxcvbn: %s',
    async (password) => {
      const durations: number[] = [];
      const defaultDurations: number[] = [];
      const isFast = () => Math.min(...durations) <= Math.min(...defaultDurations) / 2;
      for (let n = 0; n < 2 || (n < 50 && !isFast()); n++) {
        durations.push(await durationOf(() => validateNewPassword(password, [])));
        defaultDurations.push(await durationOf(() => withDefaultLimits.check(password)));
      }
      // The fastest runs are compared, because other programs of the machine can slow down single runs.
      expect(isFast()).toBe(true);
    },
  );

  test('timers run between two estimates', async () => {
    let timerCalls = 0;
    const timer = setInterval(() => {
      timerCalls += 1;
    }, 1);
    await Promise.all(Array.from({ length: 20 }, () => validateNewPassword('1l!|3e@4a$5s0o7t'.repeat(2), [])));
    clearInterval(timer);
    expect(timerCalls).toBeGreaterThanOrEqual(10);
  });

  test('validateNewPassword throws an error while too many passwords wait for their estimates', async () => {
    // Up to 100 passwords may wait.
    const results = await Promise.allSettled(
      Array.from({ length: 150 }, () => validateNewPassword('correct horse battery', [])),
    );
    expect(results.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0);
  });
});
