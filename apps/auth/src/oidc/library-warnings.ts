// Silences two warnings of oidc-provider that are wrong here: our own endpoints read the body of a request on purpose,
// and our own client protects the outgoing requests (outbound-fetch.ts).
const wrongWarnings = /already parsed request body|failed to setup SSRF protection for fetch/;
const { warn } = console;
console.warn = (...values: unknown[]): void => {
  if (!wrongWarnings.test(String(values[0]))) warn(...values);
};
