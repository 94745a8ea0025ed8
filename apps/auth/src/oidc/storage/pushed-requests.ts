// Stores pushed authorization requests (RFC 9126). A browser must open one within 60 s, but it is stored until the
// sign-in has ended, so that only one of two windows gets a code. The parameters, which oidc-provider reads as an
// unsigned JWT, are stored as JSON, because base64 would add a third to their length.
import type { Database } from '@bay-booking/service/database/database';
import { hashSecret } from '@bay-booking/service/secret-box';
import { decodeJwt, type JWTPayload, UnsecuredJWT } from 'jose';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import { queryOrUnavailable } from '../unavailable.ts';

interface FoundRequest {
  readonly payload: AdapterPayload;
  readonly isUsed: boolean;
  readonly remaining: number;
}

/** `lifetime` is that of an interaction in seconds. */
export function createPushedRequestAdapter(adapter: Adapter, db: Database, lifetime: number): Adapter {
  return {
    ...adapter,
    upsert: (id, { request, ...payload }, expiresIn = 0) => {
      const parameters = decodeJwt(request as string);
      return adapter.upsert(id, { ...payload, parameters }, expiresIn + lifetime);
    },
    async find(id) {
      const [found] = await queryOrUnavailable<FoundRequest>(
        db,
        `select payload, consumed_at is not null as "isUsed",
                extract(epoch from expires_at - now())::float8 as remaining
           from oidc_artifact where model = 'PushedAuthorizationRequest' and id = $1 and expires_at > now()`,
        [hashSecret(id)],
      );
      if (!found) return undefined;
      // oidc-provider checks `exp` when the browser opens the request, and only `consumed` after the sign-in. The clock
      // of the database decides (artifacts.ts).
      const isValid = found.remaining > lifetime;
      const exp = Math.floor(Date.now() / 1000) + (isValid ? 60 : -1);
      const { parameters, ...payload } = found.payload;
      const request = new UnsecuredJWT(parameters as JWTPayload).encode();
      return { ...payload, request, jti: id, exp, ...(found.isUsed && { consumed: exp }) };
    },
    async consume(id) {
      const used = await queryOrUnavailable(
        db,
        `update oidc_artifact set consumed_at = clock_timestamp()
          where model = 'PushedAuthorizationRequest' and id = $1 and consumed_at is null returning 1 as done`,
        [hashSecret(id)],
      );
      if (used.length === 0) throw new errors.InvalidRequestUri('request_uri was already used');
    },
  };
}
