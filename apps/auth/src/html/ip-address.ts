// Formats an IP address for display.

/**
 * An IPv4 client of an IPv6 socket has an IPv4-mapped address (`::ffff:192.0.2.1`, RFC 4291): show the IPv4 address.
 */
export const displayAddress = (address: string | null): string | undefined =>
  address?.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '');
