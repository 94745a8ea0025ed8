// Allows clients of the implicit flow to have `http://localhost` redirect URIs in development.
import { isLoopback } from '@bay-booking/service/public-address';
import type { Provider } from 'oidc-provider';

const ignoredErrors: ReadonlySet<string> = new Set(['implicit-force-https', 'implicit-forbid-localhost']);

interface ClientSchema {
  readonly redirect_uris?: readonly string[];
  invalidate(message: string, code?: string): void;
}

export function allowLoopbackRedirects(provider: Provider): void {
  // The types of oidc-provider do not declare `Schema`, which calls `invalidate` for each error in the metadata.
  const schema = (provider.Client as unknown as { Schema: { prototype: ClientSchema } }).Schema.prototype;
  const { invalidate } = schema;
  schema.invalidate = function invalidateUnlessLoopback(this: ClientSchema, message: string, code?: string): void {
    const uris = this.redirect_uris ?? [];
    const isHttpsOrLoopback = uris.every((uri) => URL.parse(uri)?.protocol === 'https:' || isLoopback(uri));
    if (code !== undefined && ignoredErrors.has(code) && isHttpsOrLoopback) return;
    invalidate.call(this, message, code);
  };
}
