// Reads interactions and stores their results. An interaction is the part of an authorization request in which the user
// is on our sign-in and consent pages. oidc-provider creates the interaction and gives the browser a cookie for it. Our
// page stores its result in the interaction, and redirects the browser to the authorization endpoint. The library then
// reads the result.
import type { Request, Response } from 'express';
import { errors, type Provider } from 'oidc-provider';
import { ownMetadataOf } from '../clients/registered-client.ts';
import { splitScope } from '../scopes.ts';
import { idpParameter } from './requests.ts';

/** The interaction has ended, or belongs to another browser. Pages show this error as an expired sign-in. */
export class InteractionExpired extends Error {
  override readonly name = 'InteractionExpired';
  readonly status = 400;
}

export interface SignInResult {
  readonly accountId: string;
  /** The time of the sign-in, in seconds since 1970. */
  readonly signedInAt: number;
  /** The authentication context class (claim `acr`): `idp:NAME` after a social sign-in. */
  readonly acr?: string | undefined;
  /** The authentication methods (claim `amr`), such as `pwd` for a password. */
  readonly amr: readonly string[];
}

export interface InteractionClient {
  readonly clientId: string;
  readonly name: string;
  readonly kind: string;
  readonly policyUri: string | undefined;
  readonly tosUri: string | undefined;
}

export interface Interaction {
  /** The id of the interaction, which is part of the paths of its pages. */
  readonly uid: string;
  /** The page that must be shown: `login` or `consent`. */
  readonly prompt: string;
  readonly requestedScopes: readonly string[];
  readonly redirectUri: string | undefined;
  /** Whether a device waits for the tokens (RFC 8628). The last page is then our own, and not a page of the client. */
  readonly isForDevice: boolean;
  readonly loginHint: string | undefined;
  /** The social provider that the request chose with `acr_values=idp:NAME`. */
  readonly socialProvider: string | undefined;
  /** The account that is signed in. Undefined if nobody is signed in. */
  readonly accountId: string | undefined;
  /** The id of the grant, which stores the scopes that the user has allowed the client. Undefined without a grant. */
  readonly grantId: string | undefined;
  /** Returns undefined if the client was removed or disabled after the request began. */
  readonly findClient: () => Promise<InteractionClient | undefined>;
  // Each of the following functions stores a result and redirects the browser to the authorization endpoint.
  readonly signIn: (response: Response, result: SignInResult) => Promise<void>;
  readonly consent: (response: Response, grantId: string) => Promise<void>;
  readonly deny: (response: Response, description: string) => Promise<void>;
}

export type Interactions = ReturnType<typeof createInteractions>;

export function createInteractions(provider: () => Provider) {
  return {
    /**
     * Finds the interaction named by the route parameter `uid`.
     * @throws {InteractionExpired} if the interaction has ended, or the browser does not have its cookie
     */
    async find(request: Request, response: Response): Promise<Interaction> {
      const found = await provider()
        .interactionDetails(request, response)
        .catch((error: Error) => {
          throw error instanceof errors.SessionNotFound ? new InteractionExpired(error.message) : error;
        });
      if (found.uid !== request.params.uid) throw new InteractionExpired('the cookie belongs to another interaction');
      return describe(provider(), found);
    },

    /**
     * Finds an interaction without its cookie. Browsers send the cookie only to the path of the interaction, so
     * requests to other paths need this function. The caller must know that the interaction belongs to this browser.
     * @throws {InteractionExpired} if the interaction has ended
     */
    async findByUid(uid: string): Promise<Interaction> {
      const found = await provider().Interaction.find(uid);
      if (!found) throw new InteractionExpired('the interaction is over');
      return describe(provider(), found);
    },
  };
}

type StoredInteraction = Awaited<ReturnType<Provider['interactionDetails']>>;

function describe(provider: Provider, stored: StoredInteraction): Interaction {
  const parameter = (name: string): string | undefined => {
    const value = stored.params[name];
    return typeof value === 'string' ? value : undefined;
  };
  const finish = async (response: Response, result: NonNullable<StoredInteraction['result']>): Promise<void> => {
    stored.result = result;
    const remainingSeconds = stored.exp - Math.floor(Date.now() / 1000);
    await stored.save(remainingSeconds);
    response.redirect(303, stored.returnTo);
  };
  return {
    uid: stored.uid,
    prompt: stored.prompt.name,
    requestedScopes: splitScope(parameter('scope')),
    redirectUri: parameter('redirect_uri'),
    isForDevice: stored.deviceCode !== undefined,
    loginHint: parameter('login_hint'),
    socialProvider: parameter(idpParameter),
    accountId: stored.session?.accountId,
    grantId: stored.grantId,
    async findClient() {
      const client = await provider.Client.find(String(stored.params.client_id));
      return (
        client && {
          clientId: client.clientId,
          name: client.clientName ?? client.clientId,
          kind: ownMetadataOf(client).kind,
          policyUri: client.policyUri,
          tosUri: client.tosUri,
        }
      );
    },
    // `lastSubmission` contains the results of the earlier pages of the same request, such as the sign-in before the
    // consent. oidc-provider reads only the latest result, so a new result includes the earlier ones.
    signIn: (response, { accountId, signedInAt, acr, amr }) =>
      finish(response, {
        ...stored.lastSubmission,
        login: { accountId, ts: signedInAt, amr: [...amr], ...(acr && { acr }) },
      }),
    consent: (response, grantId) => finish(response, { ...stored.lastSubmission, consent: { grantId } }),
    deny: (response, description) => finish(response, { error: 'access_denied', error_description: description }),
  };
}
