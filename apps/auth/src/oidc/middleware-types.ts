// Defines types for the middleware of oidc-provider's Koa application, because we do not depend on Koa itself.

export type Next = () => Promise<void>;

/** The parameters of an authorization request. A parameter that was sent more than once is an array. */
export type AuthorizationQuery = Record<string, string | string[] | undefined>;
