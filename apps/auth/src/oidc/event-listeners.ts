// Listens to the events of oidc-provider: corrects successful responses and records the audit trail and error codes.
import { noteCause, type RequestLocals } from '@bay-booking/service/http/app';
import type { Response } from 'express';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { Audit } from '../audit/audit.ts';
import type { AuditEvent } from '../audit/store.ts';
import { errorLabel } from '../metrics.ts';
import { removeCode } from './authorization/implicit-flow.ts';
import { ownMetadataOf } from './clients/registered-client.ts';
import type { ProviderOptions } from './provider-options.ts';
import { grantSourceOf } from './request-state.ts';
import { grantedScope } from './tokens/claims.ts';

export function registerEventListeners(
  provider: Provider,
  { resource: { audience }, audit, clients }: Pick<ProviderOptions, 'resource' | 'audit' | 'clients'>,
): void {
  // Listeners run in the order of their registration, so the audit trail gets corrected responses.
  correctResponses(provider, audience);
  recordEvents(provider, audit);
  provider.on('grant.success', ({ ip, oidc: { client } }) => {
    if (client && ownMetadataOf(client).kind === 'personal-access-token') clients.recordUse(client.clientId, ip);
  });
}

/** oidc-provider emits these events just before it writes a response. */
function correctResponses(provider: Provider, audience: string): void {
  provider.on('authorization.success', (ctx, response) => {
    // After the sign-in for a device there is no response.
    if (!response) return;
    response.scope = grantedScope(ctx, ctx.oidc.params?.scope as string | undefined, audience);
    // RFC 9207 section 2. oidc-provider leaves `iss` out if the response has an id_token.
    response.iss = ctx.oidc.provider.issuer;
    removeCode(ctx, response);
  });
  provider.on('grant.success', (ctx) => {
    const source = grantSourceOf(ctx);
    // If there is no code or refresh token, the body already has the granted scopes.
    if (!source) return;
    const requested = (ctx.oidc.params?.scope as string | undefined) ?? source.scope;
    (ctx.body as Record<string, unknown>).scope = grantedScope(ctx, requested, audience);
  });
}

function recordEvents(provider: Provider, audit: Audit): void {
  const record = (kind: string, ctx: KoaContextWithOIDC, more: Partial<AuditEvent> = {}): void =>
    audit.record({
      kind,
      clientId: ctx.oidc.client?.clientId,
      accountId: ctx.oidc.account?.accountId ?? ctx.oidc.session?.accountId,
      address: ctx.ip,
      ...more,
    });

  provider.on('authorization.success', (ctx, response) => {
    if (!response) {
      record('device.connected', ctx, { detail: { scope: ctx.oidc.entities.DeviceCode?.scope } });
      return;
    }
    const responseType = String(ctx.oidc.params?.response_type ?? '');
    record('authorization.granted', ctx, { detail: { scope: String(response.scope ?? ''), responseType } });
  });
  const recordError =
    (kind: string) =>
    (ctx: KoaContextWithOIDC, error: Error): void => {
      setErrorCode(ctx, error);
      record(kind, ctx, { detail: detailOf(error) });
    };
  provider.on('authorization.error', recordError('authorization.refused'));
  // Anybody can push requests for a public client, so they are not in the audit trail. Their sign-in is.
  provider.on('pushed_authorization_request.error', setErrorCode);
  provider.on('device_authorization.error', recordError('device-authorization.refused'));
  provider.on('device_authorization.success', (ctx) =>
    record('device-authorization.started', ctx, { detail: { scope: String(ctx.oidc.params?.scope ?? '') } }),
  );
  provider.on('device_resume.error', (ctx, error) => record('device.refused', ctx, { detail: detailOf(error) }));
  provider.on('grant.success', (ctx) => {
    const { client, entities, params } = ctx.oidc;
    const accountId = entities.Grant?.accountId ?? (client && ownMetadataOf(client).account_id);
    const scope = String((ctx.body as { scope?: string }).scope ?? '');
    record('token.issued', ctx, { accountId, detail: { grantType: String(params?.grant_type), scope } });
  });
  provider.on('grant.error', (ctx, error) => {
    setErrorCode(ctx, error);
    // A device polls every few seconds, so the audit trail leaves the polls out.
    if (error.message === 'authorization_pending' || error.message === 'slow_down') return;
    const grantType = String(ctx.oidc.params?.grant_type ?? '');
    record('token.refused', ctx, { detail: { grantType, ...detailOf(error) } });
  });
  provider.on('grant.revoked', (ctx, grantId) => record('grant.revoked', ctx, { detail: { grantId } }));
  provider.on('revocation.error', (ctx, error) => record('revocation.refused', ctx, { detail: detailOf(error) }));
  provider.on('end_session.success', (ctx) => record('session.ended', ctx));
}

function setErrorCode(ctx: KoaContextWithOIDC, error: Error): void {
  const response = ctx.res as Response;
  (response.locals as RequestLocals).codes = [errorLabel(error.message)];
  if ((error as Error & { status?: number }).status === 503) noteCause(response, error);
}

function detailOf(error: {
  message: string;
  error_description?: string | undefined;
  error_detail?: string | undefined;
}) {
  return { error: error.message, description: error.error_description, reason: error.error_detail };
}
