// Silences two warnings of oidc-provider, each of which the library prints once per process. They would only confuse
// operators:
// - The body of a request was read already. plain-client-credentials.ts does that on purpose.
// - The library cannot protect outgoing requests. Our own client for such requests does (outbound-fetch.ts).
const silenced = ['oidc-provider WARNING: already parsed request body', 'failed to setup SSRF protection for fetch'];
const { warn } = console;
console.warn = (...values: unknown[]): void => {
  if (!silenced.some((text) => String(values[0]).includes(text))) warn(...values);
};
