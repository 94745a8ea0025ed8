// Tests the keys under which failed sign-ins and other events are counted.
import { describe, expect, test } from '@jest/globals';
import { addressKey, nameKey } from './keys.ts';

describe('addressKey', () => {
  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:50321', '192.0.2.7'],
    ['::ffff:192.0.2.7:50321', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002::9', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['[2001:db8::1]:50321', '2001:db8:0:0::/64'],
    ['[2001:db8::1]', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ])(
    'addressKey returns an IPv4 address without its port, or the /64 network of an IPv6 address: %s to %s',
    (address, key) => {
      expect(addressKey(address)).toBe(key);
    },
  );

  test('addressKey accepts text that is not an address, and limits its length', () => {
    expect(addressKey('unknown')).toBe('unknown');
    expect(addressKey('x'.repeat(5_000)).length).toBeLessThan(100);
  });
});

describe('nameKey', () => {
  test('nameKey ignores case and surrounding spaces, and the key does not contain the name', () => {
    expect(nameKey(' Player@Example.com ')).toBe(nameKey('player@example.com'));
    expect(nameKey('player@example.com')).not.toContain('player');
  });
});
