// Under which key are failures counted? A hash of the name, so that the table tells nobody what was typed (people type passwords there),
// and the address, of IPv6 only the /64 that one customer holds.
import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';

export const nameKey = (name: string): string =>
  createHash('sha256').update(name.trim().toLowerCase()).digest('base64url');

export function addressKey(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped) return mapped;
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return address;
  const [head = '', tail] = plain.split('::');
  const groups = head === '' ? [] : head.split(':');
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length);
  const all = [...groups, ...Array<string>(Math.max(0, missing)).fill('0'), ...(tail ? tail.split(':') : [])];
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
