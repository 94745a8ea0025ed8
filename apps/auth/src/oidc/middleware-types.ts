// Types for middleware of oidc-provider's Koa application. We do not depend on Koa itself.

export type Next = () => Promise<void>;

/** A parameter that was sent more than once is an array. */
export type AuthorizationQuery = Record<string, string | string[] | undefined>;
