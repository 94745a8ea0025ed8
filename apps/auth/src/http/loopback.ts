// Tells whether a URL points to this machine. Some rules for addresses on the internet do not apply there.

export function isLoopback(url: string): boolean {
  const hostname = URL.parse(url)?.hostname ?? '';
  return /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
}
