import { describe, expect, test } from '@jest/globals';
import { validateNewPassword } from './password-policy.ts';

describe('trivial and breached passwords are refused', () => {
  test.each([
    'password1',
    '1234567890',
    'qwertyuiop',
    'iloveyou1',
    'Passw0rd!',
    'aaaaaaaaaaaa',
    'golfgolf',
    'letmein123',
  ])('%s', (password) => {
    expect(validateNewPassword(password, [])).toMatch(/first that an attacker would try/);
  });

  test('so is the owner’s own name or address', () => {
    const about = ['Jonathan Greenkeeper', 'greenkeeper@north.example'];
    expect(validateNewPassword('greenkeeper', about)).toBeDefined();
    expect(validateNewPassword('jonathan1', about)).toBeDefined();
  });

  test('and one that is too short or too long', () => {
    expect(validateNewPassword('xK3#pQz', [])).toMatch(/8 characters/);
    expect(validateNewPassword('ab c'.repeat(100), [])).toMatch(/256 characters/);
    expect(validateNewPassword('', [])).toBeDefined();
  });
});

describe('kinds of characters are never demanded', () => {
  test.each(['correct horse battery', 'lampe fenster regal', 'звёзды над полем', '88213067745190'])(
    '%s',
    (password) => {
      expect(validateNewPassword(password, ['player@example.com'])).toBeUndefined();
    },
  );

  test('a password of a page’s length is judged at once', () => {
    const started = performance.now();
    validateNewPassword('abcdefgh1!'.repeat(25), []);
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});
