// Does this address lead to the machine that it is used on? What is not for the open internet may be laxer there.

export function isLoopback(address: string): boolean {
  const hostname = URL.parse(address)?.hostname ?? '';
  return /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
}
