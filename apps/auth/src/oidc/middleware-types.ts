// What does a middleware of oidc-provider's Koa application get? Koa itself is the library's, not ours to depend on.

export type Next = () => Promise<void>;
