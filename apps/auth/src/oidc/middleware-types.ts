// Defines types for the middleware of oidc-provider, which uses Koa.

export type Next = () => Promise<void>;

/** A parameter that was sent more than once is an array. */
export type AuthorizationQuery = Record<string, string | string[] | undefined>;
