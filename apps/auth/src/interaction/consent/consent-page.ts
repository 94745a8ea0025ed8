// Shows the consent page of an authorization request and stores the decision of the user.
import type { Request, Response } from 'express';
import { field, fields } from '../../html/forms.ts';
import type { GrantOwner } from '../../oidc/authorization/consent-grants.ts';
import { type Interaction, InteractionExpired } from '../../oidc/authorization/interactions.ts';
import { offlineAccess } from '../../oidc/scopes.ts';
import type { PageServices } from '../../services.ts';
import { describeScopes } from './scope-descriptions.ts';

export function createConsentPage({ site, grants, consents, scopes, audit }: PageServices) {
  /**
   * Stores a decision and returns the id of the new grant. Every decision creates one, because oidc-provider cannot add
   * a scope to a grant in which it was declined. The new grant also contains the earlier decisions of this session
   * (`grantId`) about scopes that the client does not request now (specification, "Scopes", rule 3).
   */
  const decide = async (
    { requestedScopes: requested, grantId }: Interaction,
    owner: GrantOwner,
    granted: readonly string[],
  ): Promise<string> => {
    const wasNotRequested = (scope: string): boolean => !requested.includes(scope);
    const earlier = await grants.find(grantId, owner);
    const allGranted = [...(earlier?.granted.filter(wasNotRequested) ?? []), ...granted];
    const declined = requested.filter((scope) => !granted.includes(scope));
    const allDeclined = [...(earlier?.declined.filter(wasNotRequested) ?? []), ...declined];
    await consents.save(owner, { granted, declined });
    return grants.create(owner, { granted: allGranted, declined: allDeclined });
  };

  const findClient = async (interaction: Interaction) => {
    const client = await interaction.findClient();
    if (!client) throw new InteractionExpired('the client no longer exists');
    return client;
  };

  return {
    async show(response: Response, interaction: Interaction): Promise<void> {
      const { uid, requestedScopes, redirectUri, isForDevice } = interaction;
      const { name, kind, policyUri, tosUri } = await findClient(interaction);
      const policies = [
        ...(policyUri ? [{ href: policyUri, text: 'its privacy policy' }] : []),
        ...(tosUri ? [{ href: tosUri, text: 'its terms of service' }] : []),
      ];
      const data = {
        clientName: name,
        scopes: describeScopes(requestedScopes, scopes, kind),
        action: `/interaction/${uid}/consent`,
        destination: isForDevice ? 'your device' : (webHost(redirectUri) ?? name),
        policies,
      };
      const page = { title: 'Allow access?', csrfContext: uid, allowExternalFormTargets: true };
      await site.show(response, 'consent', data, page);
    },

    /** Stores the decision of the user and redirects the browser to the authorization endpoint. */
    async submit(request: Request, response: Response, interaction: Interaction): Promise<void> {
      const { prompt, accountId, requestedScopes: requested } = interaction;
      const { clientId, kind } = await findClient(interaction);
      if (prompt !== 'consent' || !accountId) throw new InteractionExpired('the request is not waiting for consent');
      const tickedScopes = fields(request, 'scope');
      const granted = describeScopes(requested, scopes, kind)
        .filter((scope) => scope.required || tickedScopes.includes(scope.name))
        .map((scope) => scope.name);
      const event = { accountId, clientId, address: request.ip };
      // A refresh token without any other scope has no use.
      const grantsNothing = granted.every((scope) => scope === offlineAccess);
      if (field(request, 'decision') !== 'allow' || grantsNothing) {
        audit.record({ kind: 'consent.denied', ...event, detail: { requested } });
        return interaction.deny(response, 'the resource owner denied the request');
      }
      const newGrantId = await decide(interaction, { accountId, clientId }, granted);
      audit.record({ kind: 'consent.given', ...event, detail: { requested, granted } });
      await interaction.consent(response, newGrantId);
    },
  };
}

/** Returns the host of a redirect URI, or undefined if the URI has the custom scheme of a native app. */
function webHost(redirectUri: string | undefined): string | undefined {
  const url = URL.parse(redirectUri ?? '');
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url.host : undefined;
}
