// Allows clients of the implicit flow to have redirect URIs on `http://localhost`, in development only. The library
// rejects such URIs when it validates a client. It reports each error through `invalidate`, which is a method of the
// client schema, so that method is replaced by one that ignores these two errors.

import { isLoopback } from '@bay-booking/service/public-address';
import type { Provider } from 'oidc-provider';

const ignoredErrors: ReadonlySet<string> = new Set(['implicit-force-https', 'implicit-forbid-localhost']);

interface ClientSchema {
  readonly redirect_uris?: readonly string[];
  invalidate(message: string, code?: string): void;
}

export function allowLoopbackRedirects(provider: Provider): void {
  const schema = (provider.Client as unknown as { Schema: { prototype: ClientSchema } }).Schema.prototype;
  const { invalidate } = schema;
  schema.invalidate = function invalidateUnlessLoopback(this: ClientSchema, message: string, code?: string): void {
    const uris = this.redirect_uris ?? [];
    const isHttpsOrLoopback = uris.every((uri) => URL.parse(uri)?.protocol === 'https:' || isLoopback(uri));
    if (code !== undefined && ignoredErrors.has(code) && isHttpsOrLoopback) return;
    invalidate.call(this, message, code);
  };
}
