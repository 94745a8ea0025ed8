// How is an address told? As people know it: an IPv4 address that came in over an IPv6 socket is an IPv4 address. Pure.

export const readableAddress = (address: string | null): string | undefined =>
  address?.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '');
