// Checks access tokens of native apps with the token information endpoint of a provider.
import { NativeTokenError } from '../provider.ts';
import { requestTimeoutSeconds } from './code-flow.ts';

/**
 * A redirect is an error, because the URL contains the token, which must not reach another server.
 *
 * @throws {NativeTokenError} if the endpoint rejects the token, or if its response has no JSON body
 * @throws {Error} if the endpoint does not respond, fails or limits the rate of requests
 */
export async function fetchTokenInfo(
  endpoint: string,
  parameters: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, unknown>>> {
  const url = new URL(endpoint);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  const response = await fetch(url, {
    redirect: 'error',
    signal: AbortSignal.timeout(requestTimeoutSeconds * 1000),
    headers: { accept: 'application/json' },
  });
  const { status } = response;
  if (status >= 500 || status === 429) throw new Error(`the token information endpoint returned ${status}`);
  const body = (await response.json().catch(() => null)) as Record<string, unknown> | null;
  if (status !== 200 || !body) throw new NativeTokenError('the token is not valid');
  return body;
}

/** An array counts as several values. */
export const textsOf = (...values: readonly unknown[]): string[] =>
  values.flat().filter((value): value is string => typeof value === 'string' && value !== '');

/** @throws {NativeTokenError} if the token was issued to another application */
export function checkIssuedTo(issuedTo: readonly string[], nativeAudiences: readonly string[]): void {
  if (!issuedTo.some((clientId) => nativeAudiences.includes(clientId))) {
    throw new NativeTokenError('the token was issued to another application');
  }
}
