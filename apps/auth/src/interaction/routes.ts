// The pages of an authorization request: sign in or register, consent, cancel (specification, "Authorization code flow" step 2). The
// provider sends the browser here with a cookie for this one interaction and takes it back when the decision is made.
import type { Request, Response } from 'express';
import { Router } from 'express';
import type { Provider } from 'oidc-provider';
import type { Audit } from '../audit/audit.ts';
import { field, fields } from '../html/form-body.ts';
import type { Site } from '../html/site.ts';
import { ownMetadataOf } from '../oidc/registered-client.ts';
import { offlineAccess, type ScopeTable, splitScope } from '../oidc/scopes.ts';
import type { Decision } from './consent.ts';
import { describeScopes } from './consent.ts';
import { findInteraction, finishInteraction, type Interaction, interactionOver } from './finish.ts';
import type { ProviderLink, SignInContext } from './sign-in-context.ts';
import type { SignInPages } from './sign-in-pages.ts';

export interface InteractionOptions {
  readonly provider: () => Provider;
  readonly site: Site;
  readonly pages: SignInPages;
  readonly decide: (decision: Decision) => Promise<string>;
  readonly scopes: ScopeTable;
  readonly idpParameter: string;
  readonly providerLinks: (base: string, query: string) => readonly ProviderLink[];
  readonly audit: Audit;
}

export function interactionRoutes(options: InteractionOptions): Router {
  const { provider, site, pages, scopes, audit } = options;

  const interactionOf = (request: Request, response: Response): Promise<Interaction> =>
    findInteraction(provider(), request, response);
  const clientOf = (interaction: Interaction) => provider().Client.find(String(interaction.params.client_id));

  const contextOf = async (interaction: Interaction): Promise<SignInContext> => {
    const base = `/interaction/${interaction.uid}`;
    const client = await clientOf(interaction);
    return {
      signIn: `${base}/sign-in`,
      register: `${base}/register`,
      cancel: `${base}/cancel`,
      clientName: client?.clientName ?? client?.clientId,
      providers: options.providerLinks(base, ''),
      csrfContext: interaction.uid,
      allowExternalFormTargets: true,
      hint: typeof interaction.params.login_hint === 'string' ? interaction.params.login_hint : undefined,
      finish: (answer) => (done) => finishInteraction(answer, interaction, done),
    };
  };
  const findContext = async (request: Request, response: Response): Promise<SignInContext> =>
    contextOf(await interactionOf(request, response));

  const showConsent = async (request: Request, response: Response, interaction: Interaction): Promise<void> => {
    const client = await clientOf(interaction);
    if (!client) throw interactionOver('the client is gone');
    const requested = splitScope(String(interaction.params.scope ?? ''));
    const clientName = client.clientName ?? client.clientId;
    await site.show(
      request,
      response,
      'consent',
      {
        clientName,
        scopes: describeScopes(requested, scopes, ownMetadataOf(client).kind),
        action: `/interaction/${interaction.uid}/consent`,
        destination: destinationOf(interaction.params.redirect_uri, clientName),
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

  const refuse = (request: Request, response: Response, description: string): Promise<void> =>
    provider().interactionFinished(
      request,
      response,
      { error: 'access_denied', error_description: description },
      { mergeWithLastSubmission: false },
    );

  const submitConsent = async (request: Request, response: Response): Promise<void> => {
    const interaction = await interactionOf(request, response);
    const accountId = interaction.session?.accountId;
    const client = await clientOf(interaction);
    if (interaction.prompt.name !== 'consent' || !accountId || !client) {
      throw interactionOver('nothing to consent to');
    }
    const requested = splitScope(String(interaction.params.scope ?? ''));
    const ticked = fields(request, 'scope');
    const granted = describeScopes(requested, scopes, ownMetadataOf(client).kind)
      .filter((scope) => scope.needed || ticked.includes(scope.name))
      .map((scope) => scope.name);
    const event = { accountId, clientId: client.clientId, address: request.ip };
    // Staying connected to nothing is nothing.
    if (field(request, 'decision') !== 'allow' || granted.every((scope) => scope === offlineAccess)) {
      audit.record({ kind: 'consent.denied', ...event, detail: { requested } });
      return refuse(request, response, 'the resource owner denied the request');
    }
    const grantId = await options.decide({
      accountId,
      clientId: client.clientId,
      requested,
      granted,
      grantId: interaction.grantId,
    });
    audit.record({ kind: 'consent.given', ...event, detail: { requested, granted } });
    await provider().interactionFinished(
      request,
      response,
      { consent: { grantId } },
      { mergeWithLastSubmission: true },
    );
  };

  const router = Router();
  router.use(
    '/interaction/:uid',
    pages.routes(findContext, (request) => String(request.params.uid)),
  );
  router.get('/interaction/:uid', async (request, response) => {
    const interaction = await interactionOf(request, response);
    if (interaction.prompt.name === 'consent') return showConsent(request, response, interaction);
    const idp = interaction.params[options.idpParameter];
    if (typeof idp === 'string') return response.redirect(303, `/interaction/${interaction.uid}/social/${idp}`);
    return pages.showSignIn(request, response, await contextOf(interaction));
  });
  const csrfContext = (request: Request): string => String(request.params.uid);
  router.post('/interaction/:uid/consent', ...site.form(csrfContext, submitConsent));
  router.post(
    '/interaction/:uid/cancel',
    ...site.form(csrfContext, async (request, response) => {
      await interactionOf(request, response);
      await refuse(request, response, 'the sign-in was cancelled');
    }),
  );
  router.use('/interaction', site.showFailure);
  return router;
}

function destinationOf(redirectUri: unknown, clientName: string): string {
  const url = typeof redirectUri === 'string' ? URL.parse(redirectUri) : null;
  return url && (url.protocol === 'https:' || url.protocol === 'http:') ? url.host : clientName;
}
