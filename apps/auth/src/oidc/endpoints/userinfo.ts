// Who is the user of this access token? OpenID Connect Core section 5.3 for every token with `openid`. The library serves opaque tokens;
// JWTs are answered here, and refused at once when their grant was revoked (contract section 6).
import express, { type Request, type RequestHandler, type Response, Router } from 'express';
import type { JWK, Provider } from 'oidc-provider';
import { handleRejectedBody } from '../../http/rejected-body.ts';
import { createAccessTokenVerifier, type VerifiedAccessToken } from '../access-token-verifier.ts';
import { isOpenidFamily, splitScope } from '../scopes.ts';

export interface UserinfoOptions {
  readonly path: string;
  readonly provider: () => Provider;
  readonly signingKeys: () => readonly JWK[];
  /** The claims of an account that may still sign in. */
  readonly claimsOf: (accountId: string) => Promise<Record<string, unknown> | undefined>;
}

interface Refusal {
  readonly status: 400 | 401 | 403;
  readonly error?: string;
  readonly description?: string;
}

export function createUserinfo({ path, provider, signingKeys, claimsOf }: UserinfoOptions): Router {
  const verifiers = new WeakMap<object, ReturnType<typeof createAccessTokenVerifier>>();
  const verifierNow = () => {
    const keys = signingKeys();
    let verifier = verifiers.get(keys);
    if (!verifier) {
      verifier = createAccessTokenVerifier({ issuer: provider().issuer, keys });
      verifiers.set(keys, verifier);
    }
    return verifier;
  };

  const claimsFor = async (token: VerifiedAccessToken): Promise<Record<string, unknown> | Refusal> => {
    const scope = splitScope(token.scope).filter(isOpenidFamily);
    if (!scope.includes('openid')) {
      return { status: 403, error: 'insufficient_scope', description: 'access token missing openid scope' };
    }
    const invalid: Refusal = { status: 401, error: 'invalid_token', description: 'invalid token provided' };
    const { Grant, Client, Claims } = provider();
    const [grant, client, claims] = await Promise.all([
      token.grantId === undefined ? undefined : Grant.find(token.grantId),
      Client.find(token.clientId),
      claimsOf(token.subject),
    ]);
    if (!grant || !client || !claims || grant.accountId !== token.subject || grant.clientId !== token.clientId) {
      return invalid;
    }
    return new Claims(claims, { client }).scope(grant.getOIDCScopeFiltered(scope as string[])).result();
  };

  const answer: RequestHandler = async (request, response, next) => {
    const given = presentedToken(request);
    // No token, or an opaque one: the library's own answer.
    if (typeof given === 'string' && !looksLikeJwt(given)) return next();
    if (typeof given !== 'string') return void refuse(request, response, provider().issuer, given);
    const token = await verifierNow()(given);
    const result = token
      ? await claimsFor(token)
      : { status: 401 as const, error: 'invalid_token', description: 'invalid token provided' };
    response.setHeader('Cache-Control', 'no-store');
    if (isRefusal(result)) refuse(request, response, provider().issuer, result);
    else response.json(result);
  };

  const router = Router();
  router.all(path, allowAnyOrigin);
  router.post(path, express.urlencoded({ extended: false, limit: '56kb' }), moveBodyTokenToHeader);
  router.get(path, answer);
  router.post(path, answer);
  router.use(
    path,
    handleRejectedBody((_request, response, { status, error, description }) =>
      response.status(status).json({ error, error_description: description }),
    ),
  );
  return router;
}

const looksLikeJwt = (token: string): boolean => token.split('.').length === 3;
const isRefusal = (result: Record<string, unknown> | Refusal): result is Refusal => 'status' in result;

function presentedToken(request: Request): string | Refusal {
  const header = request.get('authorization');
  if (request.query.access_token !== undefined) {
    return {
      status: 400,
      error: 'invalid_request',
      description: 'access tokens must not be provided via query parameter',
    };
  }
  if (header === undefined) return { status: 401 };
  const [scheme, token, ...rest] = header.split(' ');
  if (scheme?.toLowerCase() !== 'bearer' || !token || rest.length > 0) {
    return {
      status: 401,
      error: 'invalid_request',
      description: 'the authorization header must be Bearer and one token',
    };
  }
  return token;
}

/** RFC 6750 section 2.2: a form may carry the token; more than one way at once is a fault. */
const moveBodyTokenToHeader: RequestHandler = (request, response, next) => {
  const token = (request.body as { access_token?: unknown } | undefined)?.access_token;
  // The library is to see a request without a body, which has been read by now.
  delete request.headers['content-type'];
  delete request.headers['content-length'];
  delete request.headers['transfer-encoding'];
  if (token === undefined) return next();
  if (typeof token !== 'string' || request.headers.authorization !== undefined) {
    response.status(400).json({
      error: 'invalid_request',
      error_description: 'access token must only be provided using one mechanism',
    });
    return;
  }
  request.headers.authorization = `Bearer ${token}`;
  next();
};

/** RFC 6750 section 3: without a token the challenge carries no error. */
function refuse(_request: Request, response: Response, issuer: string, { status, error, description }: Refusal): void {
  const fields = [
    `realm="${issuer}"`,
    ...(error ? [`error="${error}"`, `error_description="${description}"`] : []),
    ...(error === 'insufficient_scope' ? ['scope="openid"'] : []),
  ];
  response
    .status(status)
    .set('WWW-Authenticate', `Bearer ${fields.join(', ')}`)
    .set('Cache-Control', 'no-store')
    .json({
      error: error ?? 'invalid_token',
      error_description: description ?? 'no access token provided',
    });
}

const allowAnyOrigin: RequestHandler = (request, response, next) => {
  response.setHeader('Access-Control-Allow-Origin', '*');
  response.setHeader('Access-Control-Expose-Headers', 'WWW-Authenticate');
  if (request.method !== 'OPTIONS') return next();
  response.setHeader('Access-Control-Allow-Methods', 'GET, POST');
  response.setHeader('Access-Control-Allow-Headers', 'Authorization, Content-Type');
  response.setHeader('Access-Control-Max-Age', '3600');
  response.status(204).end();
};
