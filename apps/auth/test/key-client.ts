// Creates a test client with a key. The client signs client assertions (RFC 7523) and DPoP proofs (RFC 9449).
import { createHash, randomUUID } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';

export interface ProofOptions {
  /** The HTTP method of the request. Default: POST. */
  readonly method?: string;
  /** The access token that is sent with the proof. */
  readonly accessToken?: string;
  /** Claims that replace or extend the claims of the proof. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Fields that replace or extend the header of the proof. */
  readonly header?: Readonly<Record<string, unknown>>;
}

export type KeyClient = Awaited<ReturnType<typeof createKeyClient>>;

export async function createKeyClient(clientId: string, issuer: string, alg = 'ES256') {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  // oidc-provider accepts only objects whose prototype is the `Object.prototype` of its own JavaScript realm. Jest runs
  // the tests and oidc-provider in one realm. `exportJWK` returns objects of another realm, so they are copied.
  const publicJwk: JWK = { ...(await exportJWK(publicKey)) };
  const privateJwk: JWK = { ...(await exportJWK(privateKey)) };
  const now = () => Math.floor(Date.now() / 1000);

  /** Returns a client assertion. `claims` replace or extend its claims. */
  const assertion = (claims: Readonly<Record<string, unknown>> = {}): Promise<string> =>
    new SignJWT({ iss: clientId, sub: clientId, aud: issuer, jti: randomUUID(), exp: now() + 60, ...claims })
      .setProtectedHeader({ alg })
      .sign(privateKey);

  return {
    clientId,
    publicJwk,
    privateJwk,
    thumbprint: await calculateJwkThumbprint(publicJwk),
    assertion,

    /** Returns the form fields that authenticate the client with a new assertion. */
    authenticate: async (claims?: Readonly<Record<string, unknown>>): Promise<Record<string, string>> => ({
      client_id: clientId,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await assertion(claims),
    }),

    proof: (url: string, { method = 'POST', accessToken, claims, header }: ProofOptions = {}): Promise<string> =>
      new SignJWT({
        jti: randomUUID(),
        htm: method,
        htu: url,
        iat: now(),
        ...(accessToken !== undefined && { ath: createHash('sha256').update(accessToken).digest('base64url') }),
        ...claims,
      })
        .setProtectedHeader({ typ: 'dpop+jwt', alg, jwk: publicJwk, ...header })
        .sign(privateKey),
  };
}
