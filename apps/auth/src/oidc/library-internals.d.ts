// Types of the three internal modules of oidc-provider that dpop.ts uses. The library's types do not cover them.
declare module 'oidc-provider/lib/helpers/grants.js' {
  import type { KoaContextWithOIDC, Provider } from 'oidc-provider';

  interface Proof {
    readonly thumbprint: string;
    readonly jti: string;
  }
  /** Undefined if the request has no proof. Throws InvalidDpopProof or UseDpopNonce. */
  export function validateDpop(provider: Provider, ctx: KoaContextWithOIDC): Promise<Proof | undefined>;
  export function checkDpopRequired(provider: Provider, ctx: KoaContextWithOIDC, proof: Proof | undefined): void;
  export function checkDpopReplay(
    provider: Provider,
    ctx: KoaContextWithOIDC,
    proof: Proof | undefined,
    clientId: string,
  ): Promise<void>;
}

declare module 'oidc-provider/lib/helpers/challenge.js' {
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
