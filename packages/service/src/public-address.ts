// Finds settings that are safe only on a developer's machine.
import { isIPv6 } from 'node:net';

export function isLoopback(url: string): boolean {
  const hostname = URL.parse(url)?.hostname ?? '';
  return /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
}

/** Whether a server that listens on `host` is reachable only from this machine. */
export const isLoopbackHost = (host: string): boolean => isLoopback(`http://${isIPv6(host) ? `[${host}]` : host}`);

/** Whether strangers can reach the service. If NODE_ENV is unset, the issuer's host decides. */
export function isPublicService(environment: NodeJS.ProcessEnv, issuer: string | undefined): boolean {
  if (environment.NODE_ENV) return environment.NODE_ENV === 'production';
  return issuer !== undefined && URL.canParse(issuer) && !isLoopback(issuer);
}

/** The default secrets in docker-compose.yml contain this marker, some of them in base64. */
const developmentMarker = 'DEVELOPMENT-ONLY';

export function developmentSecretErrors(environment: NodeJS.ProcessEnv, variables: readonly string[]) {
  const isPublished = (value: string): boolean =>
    value.split(',').some((part) => `${part} ${Buffer.from(part, 'base64')}`.includes(developmentMarker));
  return variables
    .filter((variable) => isPublished(environment[variable] ?? ''))
    .map((variable) => `${variable} is a published default (${developmentMarker}); set a secret of your own`);
}

/** On another host, http would send tokens and passwords unencrypted. */
export function unencryptedIssuerErrors(environment: NodeJS.ProcessEnv, variable: string): readonly string[] {
  const issuer = environment[variable]?.trim() ?? '';
  const isUnencrypted = URL.parse(issuer)?.protocol === 'http:' && !isLoopback(issuer);
  return isUnencrypted ? [`${variable} must start with https:// (NODE_ENV=production)`] : [];
}
