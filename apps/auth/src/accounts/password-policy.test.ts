// Tests which new passwords are accepted.
import { describe, expect, test } from '@jest/globals';
import { validateNewPassword } from './password-policy.ts';

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
  ])('rejects a password that is easy to guess: %s', async (password) => {
    expect(await validateNewPassword(password, [])).toMatch(/first that an attacker would try/);
  });

  test('rejects a password that is part of the name or the e-mail address of the user', async () => {
    const about = ['Jonathan Greenkeeper', 'greenkeeper@north.example'];
    expect(await validateNewPassword('greenkeeper', about)).toBeDefined();
    expect(await validateNewPassword('jonathan1', about)).toBeDefined();
  });

  test('rejects a password that is too short, too long or empty', async () => {
    expect(await validateNewPassword('xK3#pQz', [])).toMatch(/8 characters/);
    expect(await validateNewPassword('ab c'.repeat(100), [])).toMatch(/256 characters/);
    expect(await validateNewPassword('', [])).toBeDefined();
  });

  test.each(['correct horse battery', 'lampe fenster regal', 'звёзды над полем', '88213067745190'])(
    'accepts a strong password with any kinds of characters: %s',
    async (password) => {
      expect(await validateNewPassword(password, ['player@example.com'])).toBeUndefined();
    },
  );

  test.each(['4@8({[<369&#!1/|0$5+7%2', '1l!|3e@4a$5s0o7t'.repeat(5), 'abcdefgh1!'.repeat(25), '2020-01-01'.repeat(8)])(
    'takes less than 60 ms for a password that is expensive to estimate: %s',
    async (password) => {
      await validateNewPassword(password, []);
      const started = performance.now();
      for (let n = 0; n < 5; n++) await validateNewPassword(password, []);
      expect((performance.now() - started) / 5).toBeLessThan(60);
    },
  );

  test('lets timers run between two estimates', async () => {
    let timerCalls = 0;
    const timer = setInterval(() => {
      timerCalls += 1;
    }, 1);
    await Promise.all(Array.from({ length: 20 }, () => validateNewPassword('1l!|3e@4a$5s0o7t'.repeat(2), [])));
    clearInterval(timer);
    expect(timerCalls).toBeGreaterThanOrEqual(10);
  });

  test('rejects a password while a hundred estimates are waiting', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 150 }, () => validateNewPassword('correct horse battery', [])),
    );
    expect(results.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0);
  });
});
