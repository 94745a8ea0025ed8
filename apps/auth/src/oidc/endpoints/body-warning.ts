// Silences one warning of oidc-provider. The library prints it once per process when it gets a request whose body was
// read already. plain-client-credentials.ts does that on purpose, so the warning would only confuse operators.
const { warn } = console;
console.warn = (...values: unknown[]): void => {
  if (!String(values[0]).includes('oidc-provider WARNING: already parsed request body')) warn(...values);
};
