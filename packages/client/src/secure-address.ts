// Rejects URLs that would receive a secret or token unencrypted.

export function expectSecure(address: URL, allowInsecureHttp: boolean): void {
  const isThisMachine = ['localhost', '127.0.0.1', '[::1]'].includes(address.hostname);
  if (address.protocol === 'https:' || (address.protocol === 'http:' && (allowInsecureHttp || isThisMachine))) return;
  throw new TypeError(`${address.origin} is not https. With allowInsecureHttp, tokens are sent without encryption`);
}
