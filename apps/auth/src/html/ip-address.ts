// Formats an IP address for display.

/** Shows an IPv4-mapped IPv6 address (`::ffff:192.0.2.1`, RFC 4291) as the IPv4 address. */
export const displayAddress = (address: string | null): string | undefined =>
  address?.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '');
