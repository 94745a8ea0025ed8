// Silences two warnings that oidc-provider prints once per process. The warnings would only confuse operators:
// - The library warns that the body of a request was already read. Our own endpoints (endpoints/) read it on purpose.
// - The library warns that it cannot protect its outgoing requests. Our own client protects them (outbound-fetch.ts).
const silencedTexts = [
  'oidc-provider WARNING: already parsed request body',
  'failed to setup SSRF protection for fetch',
];
const { warn } = console;
console.warn = (...values: unknown[]): void => {
  if (!silencedTexts.some((text) => String(values[0]).includes(text))) warn(...values);
};
