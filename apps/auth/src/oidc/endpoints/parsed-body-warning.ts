// Silences one warning of oidc-provider. The library prints it once per process when it gets a request whose body was
// parsed already, which plain-client-credentials.ts does on purpose. The log shall not alarm operators about that.
const { warn } = console;
console.warn = (...values: unknown[]): void => {
  if (!String(values[0]).includes('oidc-provider WARNING: already parsed request body')) warn(...values);
};
