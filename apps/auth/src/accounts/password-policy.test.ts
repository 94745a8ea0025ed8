import { describe, expect, test } from '@jest/globals';
import { passwordFault } from './password-policy.ts';

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
    expect(passwordFault(password, [])).toMatch(/first that an attacker would try/);
  });

  test('so is the owner’s own name or address', () => {
    const about = ['Jonathan Greenkeeper', 'greenkeeper@north.example'];
    expect(passwordFault('greenkeeper', about)).toBeDefined();
    expect(passwordFault('jonathan1', about)).toBeDefined();
  });

  test('and one that is too short or too long', () => {
    expect(passwordFault('xK3#pQz', [])).toMatch(/8 characters/);
    expect(passwordFault('ab c'.repeat(100), [])).toMatch(/256 characters/);
    expect(passwordFault('', [])).toBeDefined();
  });
});

describe('kinds of characters are never demanded', () => {
  test.each(['correct horse battery', 'lampe fenster regal', 'звёзды над полем', '88213067745190'])(
    '%s',
    (password) => {
      expect(passwordFault(password, ['player@example.com'])).toBeUndefined();
    },
  );

  test('a password of a page’s length is judged at once', () => {
    const started = performance.now();
    passwordFault('abcdefgh1!'.repeat(25), []);
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});
