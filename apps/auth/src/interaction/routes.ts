// The pages of an authorization request: sign in or register, consent, cancel (specification, "Authorization code flow" step 2). The
// provider sends the browser here with a cookie for this one interaction and takes it back when the decision is made.
import type { Request, Response } from 'express';
import { Router } from 'express';
import type { Audit } from '../audit/audit.ts';
import { field, fields } from '../html/form-body.ts';
import type { Site } from '../html/site.ts';
import { type Interaction, InteractionExpired, type Interactions } from '../oidc/interactions.ts';
import { offlineAccess, type ScopeTable } from '../oidc/scopes.ts';
import type { Decision } from './consent.ts';
import { describeScopes } from './consent.ts';
import type { ProviderLink, SignInContext } from './sign-in-context.ts';
import type { SignInPages } from './sign-in-pages.ts';

export interface InteractionOptions {
  readonly interactions: Interactions;
  readonly site: Site;
  readonly pages: SignInPages;
  readonly decide: (decision: Decision) => Promise<string>;
  readonly scopes: ScopeTable;
  readonly providerLinks: (base: string, query: string) => readonly ProviderLink[];
  readonly audit: Audit;
}

export function interactionRoutes(options: InteractionOptions): Router {
  const { interactions, site, pages, scopes, audit } = options;

  const contextOf = async (interaction: Interaction): Promise<SignInContext> => {
    const base = `/interaction/${interaction.uid}`;
    const client = await interaction.findClient();
    return {
      signIn: `${base}/sign-in`,
      register: `${base}/register`,
      cancel: `${base}/cancel`,
      clientName: client?.name,
      providers: options.providerLinks(base, ''),
      csrfContext: interaction.uid,
      allowExternalFormTargets: true,
      hint: interaction.loginHint,
      finish: (answer) => (done) => interaction.signIn(answer, done),
    };
  };
  const findContext = async (request: Request, response: Response): Promise<SignInContext> =>
    contextOf(await interactions.find(request, response));

  const showConsent = async (request: Request, response: Response, interaction: Interaction): Promise<void> => {
    const client = await interaction.findClient();
    if (!client) throw new InteractionExpired('the client no longer exists');
    const clientName = client.name;
    await site.show(
      request,
      response,
      'consent',
      {
        clientName,
        scopes: describeScopes(interaction.requestedScopes, scopes, client.kind),
        action: `/interaction/${interaction.uid}/consent`,
        destination: destinationOf(interaction.redirectUri, clientName),
        policyUri: client.policyUri,
        tosUri: client.tosUri,
      },
      {
        title: 'Allow access?',
        csrfContext: interaction.uid,
        allowExternalFormTargets: true,
      },
    );
  };

  const submitConsent = async (request: Request, response: Response): Promise<void> => {
    const interaction = await interactions.find(request, response);
    const { accountId, requestedScopes: requested } = interaction;
    const client = await interaction.findClient();
    if (interaction.prompt !== 'consent' || !accountId || !client) {
      throw new InteractionExpired('there is nothing to consent to');
    }
    const ticked = fields(request, 'scope');
    const granted = describeScopes(requested, scopes, client.kind)
      .filter((scope) => scope.needed || ticked.includes(scope.name))
      .map((scope) => scope.name);
    const event = { accountId, clientId: client.clientId, address: request.ip };
    // Staying connected to nothing is nothing.
    if (field(request, 'decision') !== 'allow' || granted.every((scope) => scope === offlineAccess)) {
      audit.record({ kind: 'consent.denied', ...event, detail: { requested } });
      return interaction.deny(response, 'the resource owner denied the request');
    }
    const grantId = await options.decide({
      accountId,
      clientId: client.clientId,
      requested,
      granted,
      grantId: interaction.grantId,
    });
    audit.record({ kind: 'consent.given', ...event, detail: { requested, granted } });
    await interaction.consent(response, grantId);
  };

  const router = Router();
  router.use(
    '/interaction/:uid',
    pages.routes(findContext, (request) => String(request.params.uid)),
  );
  router.get('/interaction/:uid', async (request, response) => {
    const interaction = await interactions.find(request, response);
    if (interaction.prompt === 'consent') return showConsent(request, response, interaction);
    const idp = interaction.socialProvider;
    if (idp !== undefined) return response.redirect(303, `/interaction/${interaction.uid}/social/${idp}`);
    return pages.showSignIn(request, response, await contextOf(interaction));
  });
  const csrfContext = (request: Request): string => String(request.params.uid);
  router.post('/interaction/:uid/consent', ...site.form(csrfContext, submitConsent));
  router.post(
    '/interaction/:uid/cancel',
    ...site.form(csrfContext, async (request, response) => {
      const interaction = await interactions.find(request, response);
      await interaction.deny(response, 'the sign-in was cancelled');
    }),
  );
  router.use('/interaction', site.showFailure);
  return router;
}

function destinationOf(redirectUri: string | undefined, clientName: string): string {
  const url = URL.parse(redirectUri ?? '');
  return url && (url.protocol === 'https:' || url.protocol === 'http:') ? url.host : clientName;
}
