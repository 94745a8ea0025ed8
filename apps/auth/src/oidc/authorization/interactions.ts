// Reads interactions and stores their results. An interaction is the part of an authorization request in which the user
// is on our pages. oidc-provider reads the result when the browser returns to it.
import type { Request, Response } from 'express';
import { errors, type Provider } from 'oidc-provider';
import { homePageOf, ownMetadataOf, type RegisteredClient } from '../clients/registered-client.ts';
import { splitScope } from '../scopes.ts';
import type { ProvenIdentity } from '../sessions.ts';
import { mfaReason } from './interaction-policy.ts';
import { idpParameter, needsFreshSignIn } from './requests.ts';

/** Pages show this error as an expired sign-in. */
export class InteractionExpired extends Error {
  override readonly name = 'InteractionExpired';
  readonly status = 400;
  readonly application: { readonly name: string; readonly homePage: string | undefined } | undefined;

  constructor(message: string, client?: RegisteredClient) {
    super(message);
    this.application = client && { name: client.clientName ?? client.clientId, homePage: homePageOf(client) };
  }
}

interface FinishedSignIn extends ProvenIdentity {
  /** In seconds since 1970. */
  readonly signedInAt: number;
}

export type Interaction = ReturnType<typeof describe>;
export type Interactions = ReturnType<typeof createInteractions>;

export function createInteractions(provider: () => Provider) {
  const expired = async (uid: string, reason: string): Promise<InteractionExpired> => {
    const stored = await provider().Interaction.find(uid);
    return new InteractionExpired(reason, stored && (await provider().Client.find(String(stored.params.client_id))));
  };

  return {
    /** @throws {InteractionExpired} also if the browser does not have the cookie of the interaction */
    async find(request: Request, response: Response): Promise<Interaction> {
      const uid = String(request.params.uid);
      const found = await provider()
        .interactionDetails(request, response)
        .catch(async (error: Error) => {
          throw error instanceof errors.SessionNotFound ? await expired(uid, error.message) : error;
        });
      if (found.uid !== uid) throw await expired(uid, 'the cookie belongs to another interaction');
      return describe(provider(), found);
    },

    // For paths that browsers do not send the cookie to. The caller must know that the interaction is of this browser.
    async findByUid(uid: string): Promise<Interaction> {
      const found = await provider().Interaction.find(uid);
      if (!found) throw new InteractionExpired('the interaction is over');
      return describe(provider(), found);
    },
  };
}

type StoredInteraction = Awaited<ReturnType<Provider['interactionDetails']>>;

function describe(provider: Provider, stored: StoredInteraction) {
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
    /** `login` or `consent` */
    prompt: stored.prompt.name,
    /** Whether the signed-in user must only add the second factor. */
    isMissingFactor: stored.prompt.reasons.length === 1 && stored.prompt.reasons[0] === mfaReason,
    needsFreshSignIn: needsFreshSignIn(stored.params),
    /** In seconds since 1970. */
    beganAt: stored.iat,
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
    // The next three store a result and redirect the browser to the authorization endpoint. oidc-provider reads only
    // the latest result, so it must include the results of earlier pages.
    signIn: (response: Response, { accountId, signedInAt, acr, amr }: FinishedSignIn) =>
      finish(response, {
        ...stored.lastSubmission,
        login: { accountId, ts: signedInAt, amr: [...amr], ...(acr && { acr }) },
      }),
    consent: (response: Response, grantId: string) =>
      finish(response, { ...stored.lastSubmission, consent: { grantId } }),
    deny: (response: Response, description: string) =>
      finish(response, { error: 'access_denied', error_description: description }),
  };
}
