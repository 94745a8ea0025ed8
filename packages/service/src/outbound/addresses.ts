// Decides which IP addresses an outbound request may connect to. Partners choose the URLs of webhooks, key sets and
// logout endpoints, and could make the service send requests into its own network (CWE-918).
import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Contains all public IPv6 addresses. The library also calls networks unicast that are not assigned. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/** IPv6 addresses that contain an IPv4 address (mapped, NAT64, 6to4) do not count as public. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  return parsed.range() === 'unicast' && (parsed instanceof ipaddr.IPv4 || parsed.match(globalUnicast));
}

/** @throws {Error} if a network is neither an IP address nor in CIDR notation */
export function createNetworkCheck(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [, address = '', prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(network) ?? [];
    const version = isIP(address);
    if (version === 0) throw new Error(`${network} is not a network in CIDR notation`);
    list.addSubnet(address, Number(prefix ?? (version === 4 ? 32 : 128)), version === 4 ? 'ipv4' : 'ipv6');
  }
  return (address) => isIP(address) !== 0 && list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
}
