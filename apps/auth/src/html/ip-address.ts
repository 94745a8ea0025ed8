// Formats IP addresses for pages.

/** Converts an IPv4-mapped IPv6 address (`::ffff:192.0.2.1`, RFC 4291) to the IPv4 address (`192.0.2.1`). */
export const displayAddress = (address: string | null): string | undefined =>
  address?.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '');
