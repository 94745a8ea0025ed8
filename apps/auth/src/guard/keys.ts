// Builds the keys that count failed sign-ins and uses of limited functions.
import { createHash } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import { canonicalName } from '../input/username.ts';

/**
 * Equal for all spellings, also of a name that no account has: the lockout must not reveal which accounts exist. A
 * hash, because users sometimes type their password into the field for the user name.
 */
export const nameKey = (name: string): string => createHash('sha256').update(canonicalName(name)).digest('base64url');

/**
 * Returns an IPv4 address itself, and the /64 network of an IPv6 address, which internet providers usually give to one
 * customer. Behind some proxies, a client can send any string as its IP address.
 */
export function addressKey(address: string): string {
  const host = withoutPort(address);
  if (!ipaddr.isValid(host)) return address.slice(0, 64);
  // `process` converts an IPv4 address in the form of IPv6 (`::ffff:192.0.2.7`) to IPv4.
  const parsed = ipaddr.process(host);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}

/** Removes the port that some proxies add to the IP address, as in `192.0.2.7:50321` and `[2001:db8::1]:50321`. */
function withoutPort(address: string): string {
  const ipv6 = /^\[(.+)\](?::\d+)?$/.exec(address)?.[1];
  return ipv6 ?? /^(.*\.\d+):\d+$/.exec(address)?.[1] ?? address;
}
