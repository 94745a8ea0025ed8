// Declares the types of the three internal modules of oidc-provider that dpop.ts and dpop-nonces.ts use. The library
// contains no types for these modules.
declare module 'oidc-provider/lib/helpers/grants.js' {
  import type { KoaContextWithOIDC, Provider } from 'oidc-provider';

  interface Proof {
    readonly thumbprint: string;
    readonly jti: string;
  }
  /** Verifies the proof of a request, if the request has one. Throws InvalidDpopProof or UseDpopNonce. */
  export function validateDpop(provider: Provider, ctx: KoaContextWithOIDC): Promise<Proof | undefined>;
  /** Throws InvalidGrant if the client must send a proof and `proof` is undefined. */
  export function checkDpopRequired(provider: Provider, ctx: KoaContextWithOIDC, proof: Proof | undefined): void;
  /** Throws InvalidGrant if the proof was used before. */
  export function checkDpopReplay(
    provider: Provider,
    ctx: KoaContextWithOIDC,
    proof: Proof | undefined,
    clientId: string,
  ): Promise<void>;
}

declare module 'oidc-provider/lib/helpers/challenge.js' {
  /** Creates the nonces for DPoP proofs, and checks whether a nonce is one of them and still valid. */
  export default class ServerChallenge {
    constructor(secret: Buffer, info: string);
    nextChallenge(): string;
    checkChallenge(challenge: string): boolean;
  }
}

declare module 'oidc-provider/lib/helpers/weak_cache.js' {
  import type { Provider } from 'oidc-provider';
  import type ServerChallenge from 'oidc-provider/lib/helpers/challenge.js';

  /** The private state of a provider. */
  export default function internalsOf(provider: Provider): { readonly DPoPNonces: ServerChallenge };
}
