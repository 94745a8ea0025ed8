// Says in a few words why an attempt got no response.
import { AddressNotAllowed } from '@bay-booking/service/outbound/client';

/** By the code of the error. Codes that begin with HPE_ are those of the HTTP parser. */
const reasons: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^ECONNREFUSED$/, 'connection refused'],
  [/^(ECONNRESET|EPIPE)$/, 'connection closed'],
  [/^ETIMEDOUT$/, 'timeout'],
  [/^(ENOTFOUND|EAI_\w+)$/, 'name not found'],
  [/^E(HOST|NET)(UNREACH|DOWN)$/, 'host unreachable'],
  [/^HPE_/, 'invalid response'],
  [/CERT|SIGNATURE|ERR_TLS_|ERR_SSL_|^EPROTO$/, 'TLS error'],
];

export function failureReason(error: unknown): string {
  if (error instanceof AddressNotAllowed) return 'address not allowed';
  const { name, code } = error as { readonly name?: string; readonly code?: unknown };
  if (name === 'TimeoutError' || name === 'AbortError') return 'timeout';
  return reasons.find(([pattern]) => pattern.test(String(code)))?.[1] ?? 'no response';
}
