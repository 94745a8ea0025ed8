// Allows clients of the implicit flow to have redirect URIs on this machine, such as `http://localhost`, in development
// only.
//
// When oidc-provider validates the metadata of a client, it reports each error by calling the method `invalidate`. This
// file replaces the method by one that ignores the two errors about `http` and `localhost`.
import { isLoopback } from '@bay-booking/service/public-address';
import type { Provider } from 'oidc-provider';

const ignoredErrors: ReadonlySet<string> = new Set(['implicit-force-https', 'implicit-forbid-localhost']);

interface ClientSchema {
  readonly redirect_uris?: readonly string[];
  invalidate(message: string, code?: string): void;
}

export function allowLoopbackRedirects(provider: Provider): void {
  // The types of oidc-provider do not declare `Schema`, the class that validates the metadata of clients.
  const schema = (provider.Client as unknown as { Schema: { prototype: ClientSchema } }).Schema.prototype;
  const { invalidate } = schema;
  schema.invalidate = function invalidateUnlessLoopback(this: ClientSchema, message: string, code?: string): void {
    const uris = this.redirect_uris ?? [];
    const isHttpsOrLoopback = uris.every((uri) => URL.parse(uri)?.protocol === 'https:' || isLoopback(uri));
    if (code !== undefined && ignoredErrors.has(code) && isHttpsOrLoopback) return;
    invalidate.call(this, message, code);
  };
}
