// Decides which IP addresses an outbound request may connect to. Partners choose the URLs of webhooks, key sets and
// logout endpoints, and could make the service send requests into its own network (CWE-918).
import { BlockList, isIP } from 'node:net';

/** Special-purpose networks in IANA's registry (RFC 6890), and multicast. */
const specialIpv4 = [
  '0.0.0.0/8', // "this network"
  '10.0.0.0/8', // private
  '100.64.0.0/10', // shared address space of providers
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local, with the metadata services of cloud providers
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, with the broadcast address
];

/** Special networks inside 2000::/3, which contains all public IPv6 addresses (RFC 6890). */
const specialIpv6 = [
  '2001::/23', // protocol assignments, with Teredo, benchmarks and ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4, which contains an IPv4 address
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
];

const special = networkList([...specialIpv4, ...specialIpv6]);
const globalUnicast = networkList(['2000::/3']);

/** IPv6 addresses that contain an IPv4 address (mapped, NAT64, 6to4) do not count as public. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !special.check(address, 'ipv4');
  return isIP(address) === 6 && globalUnicast.check(address, 'ipv6') && !special.check(address, 'ipv6');
}

/** @throws {Error} if a network is neither an IP address nor in CIDR notation */
export function createNetworkCheck(networks: readonly string[]): (address: string) => boolean {
  const list = networkList(networks);
  return (address) => isIP(address) !== 0 && list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
}

function networkList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [, address = '', prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(network) ?? [];
    const version = isIP(address);
    if (version === 0) throw new Error(`${network} is not a network in CIDR notation`);
    list.addSubnet(address, Number(prefix ?? (version === 4 ? 32 : 128)), version === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}
