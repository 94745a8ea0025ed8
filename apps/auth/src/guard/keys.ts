// Under which key are failures counted? A hash of the name, so that the table tells nobody what was typed (people type passwords there),
// and the address, of IPv6 only the /64 that one customer holds.
import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';

export const nameKey = (name: string): string =>
  createHash('sha256').update(name.trim().toLowerCase()).digest('base64url');

export function addressKey(address: string): string {
  // Some proxies forward the port as well, which changes with every connection.
  const v4 = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)(?::\d+)?$/i.exec(address)?.[1];
  if (v4) return v4;
  const unbracketed = /^\[(.+)\](?::\d+)?$/.exec(address)?.[1] ?? address;
  const [plain = ''] = unbracketed.split('%');
  // What a client says of itself through a trusted proxy may be anything, and of any length.
  if (!isIPv6(plain)) return address.slice(0, 64);
  const [head = '', tail] = plain.split('::');
  const groups = head === '' ? [] : head.split(':');
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length);
  const all = [...groups, ...Array<string>(Math.max(0, missing)).fill('0'), ...(tail ? tail.split(':') : [])];
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
