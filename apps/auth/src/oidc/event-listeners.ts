// What do we add while the library answers, and what do we remember of it? The granted scopes are reported in the redirect and in the
// token response (specification, "Scopes" rule 3), and grants, refusals and revocations go to the audit trail.
import type { RequestLocals } from '@bay-booking/service/http/app';
import type { Response } from 'express';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { Audit, AuditEvent } from '../audit/audit.ts';
import { errorLabel } from '../metrics.ts';
import { dropCode } from './implicit-flow.ts';
import { splitScope } from './scopes.ts';

export function registerEventListeners(
  provider: Provider,
  { audience, audit }: { audience: string; audit: Audit },
): void {
  /** Of the scopes asked for, those that the grant holds now. */
  const granted = (ctx: KoaContextWithOIDC, requested: string | undefined): string | undefined => {
    const grant = ctx.oidc.grant;
    if (!grant || requested === undefined) return requested;
    const held = new Set([...splitScope(grant.getOIDCScope()), ...splitScope(grant.getResourceScope(audience))]);
    return splitScope(requested)
      .filter((scope) => held.has(scope))
      .join(' ');
  };

  const tell = (kind: string, ctx: KoaContextWithOIDC, more: Partial<AuditEvent> = {}): void =>
    audit.record({
      kind,
      clientId: ctx.oidc.client?.clientId,
      accountId: ctx.oidc.account?.accountId ?? ctx.oidc.session?.accountId,
      address: ctx.ip,
      ...more,
    });

  // Emitted just before the answer is written; `answer` is the very object that will be.
  provider.on('authorization.success', (ctx, answer) => {
    if (!answer) return;
    answer.scope = granted(ctx, ctx.oidc.params?.scope as string | undefined);
    // RFC 9207 section 2 wants it in every answer; the library leaves it out beside an id_token.
    answer.iss = ctx.oidc.provider.issuer;
    dropCode(ctx, answer);
    tell('authorization.granted', ctx, {
      detail: { scope: String(answer.scope ?? ''), responseType: String(ctx.oidc.params?.response_type ?? '') },
    });
  });
  provider.on('authorization.error', (ctx, error) => {
    noteCode(ctx, error);
    tell('authorization.refused', ctx, { detail: reasonOf(error) });
  });

  provider.on('grant.success', (ctx) => {
    const body = ctx.body as Record<string, unknown>;
    const { AuthorizationCode: code, RefreshToken: refresh, Grant } = ctx.oidc.entities;
    const source = code ?? refresh;
    if (source) body.scope = granted(ctx, (ctx.oidc.params?.scope as string | undefined) ?? source.scope);
    // grants/client-credentials.ts records its tokens itself.
    if (ctx.oidc.params?.grant_type === 'client_credentials') return;
    tell('token.issued', ctx, {
      accountId: Grant?.accountId,
      detail: { grantType: String(ctx.oidc.params?.grant_type), scope: String(body.scope ?? '') },
    });
  });
  provider.on('grant.error', (ctx, error) => {
    noteCode(ctx, error);
    tell('token.refused', ctx, {
      detail: { grantType: String(ctx.oidc.params?.grant_type ?? ''), ...reasonOf(error) },
    });
  });
  provider.on('grant.revoked', (ctx, grantId) => tell('grant.revoked', ctx, { detail: { grantId } }));
  provider.on('revocation.error', (ctx, error) => tell('revocation.refused', ctx, { detail: reasonOf(error) }));
  provider.on('end_session.success', (ctx) => tell('session.ended', ctx));
}

/** So that the line that a request's id finds in the log says why it was refused. */
function noteCode(ctx: KoaContextWithOIDC, error: Error): void {
  const locals = (ctx.res as Response).locals as RequestLocals;
  locals.codes = [errorLabel(error.message)];
}

function reasonOf(error: {
  message: string;
  error_description?: string | undefined;
  error_detail?: string | undefined;
}) {
  return { error: error.message, description: error.error_description, reason: error.error_detail };
}
