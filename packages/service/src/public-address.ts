// Finds settings that are safe only on the machine of a developer. The configuration of a public service rejects these
// settings.

export function isLoopback(url: string): boolean {
  const hostname = URL.parse(url)?.hostname ?? '';
  return /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
}

/**
 * Whether the variables describe a service that strangers can reach: NODE_ENV is `production`, or NODE_ENV is not set
 * and the issuer is not on this machine. With another value of NODE_ENV, such as `development`, the service is not
 * public.
 */
export function isPublicService(environment: NodeJS.ProcessEnv, issuer: string | undefined): boolean {
  if (environment.NODE_ENV) return environment.NODE_ENV === 'production';
  return issuer !== undefined && URL.canParse(issuer) && !isLoopback(issuer);
}

/** The text that all default secrets of docker-compose.yml contain. Some of these secrets are encoded in base64. */
const developmentMarker = 'DEVELOPMENT-ONLY';

/** Returns an error for each of the variables whose value is a default secret of docker-compose.yml. */
export function developmentSecretErrors(
  environment: NodeJS.ProcessEnv,
  variables: readonly string[],
): readonly string[] {
  const isPublished = (value: string): boolean =>
    [value, Buffer.from(value, 'base64').toString()].some((text) => text.includes(developmentMarker));
  return variables
    .filter((variable) => isPublished(environment[variable] ?? ''))
    .map((variable) => `${variable} is a published default (${developmentMarker}); set a secret of your own`);
}

/**
 * `variable` is the name of the environment variable with the URL of the issuer. Returns an error if this URL starts
 * with http:// and is not on this machine, because tokens and passwords would then be sent without encryption.
 */
export function unencryptedIssuerErrors(environment: NodeJS.ProcessEnv, variable: string): readonly string[] {
  const issuer = environment[variable]?.trim() ?? '';
  const isUnencrypted = URL.parse(issuer)?.protocol === 'http:' && !isLoopback(issuer);
  return isUnencrypted ? [`${variable} must start with https:// (NODE_ENV=production)`] : [];
}
