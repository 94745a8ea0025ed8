// Whose is this access token, which a native app got from a social provider? Believed only when the provider says that it is live and was
// issued to one of our apps: otherwise a token that any other app got could be used to sign in here (contract section 4).
import type { Logger } from '@bay-booking/service/logging';
import * as openid from 'openid-client';
import type { SocialIdentity } from '../accounts/social-identity-store.ts';
import type { Connect, Connection } from './connections.ts';
import { addUserinfo, fetchOAuth2Profile, getJson, identityFrom, UnusableProfile } from './profile.ts';
import type { OAuth2Provider, OidcProvider, SocialProviders } from './settings.ts';

/** `unavailable`: the provider could not be asked, so the same token may be good in a moment (503). */
export class NativeTokenError extends Error {
  override readonly name = 'NativeTokenError';
  readonly unavailable: boolean;

  constructor(message: string, { unavailable = false, cause }: { unavailable?: boolean; cause?: unknown } = {}) {
    super(message, { cause });
    this.unavailable = unavailable;
  }
}

export interface NativeTokenVerifier {
  /** @throws {NativeTokenError} */
  readonly verifyNativeToken: (question: { token: string; provider?: string }) => Promise<SocialIdentity>;
}

export interface NativeTokenVerifierOptions {
  readonly providers: SocialProviders;
  readonly connect: Connect;
  readonly logger: Logger;
}

const longestToken = 8_192;
const refused = (why: string): never => {
  throw new NativeTokenError(why);
};

export function createNativeTokenVerifier({
  providers,
  connect,
  logger,
}: NativeTokenVerifierOptions): NativeTokenVerifier {
  const ask = async (name: string, token: string): Promise<SocialIdentity> => {
    try {
      const connection = await connect(name);
      if (!connection) return refused(`${name} is not known`);
      return connection.provider.type === 'oidc'
        ? await askOidc(connection, connection.provider, token)
        : await askOAuth2(connection, connection.provider, token);
    } catch (cause) {
      if (cause instanceof NativeTokenError) throw cause;
      if (cause instanceof UnusableProfile) throw new NativeTokenError(`${name}: ${cause.message}`, { cause });
      logger.warn({ provider: name, reason: (cause as Error).message }, 'social provider could not be asked');
      throw new NativeTokenError(`${name} could not be asked`, { unavailable: true, cause });
    }
  };

  return {
    async verifyNativeToken({ token, provider }) {
      if (token.length > longestToken || /[^\x21-\x7e]/.test(token)) return refused('the token is malformed');
      if (provider !== undefined) {
        if (!providers.has(provider)) return refused(`${provider} is not known`);
        return ask(provider, token);
      }
      const refusals: NativeTokenError[] = [];
      for (const name of providers.keys()) {
        try {
          return await ask(name, token);
        } catch (error) {
          refusals.push(error as NativeTokenError);
        }
      }
      const away = refusals.find((refusal) => refusal.unavailable);
      if (away) throw away;
      return refused(refusals.map(({ message }) => message).join('; ') || 'no social provider is configured');
    },
  };
}

async function askOidc(connection: Connection, provider: OidcProvider, token: string): Promise<SocialIdentity> {
  const { configuration } = connection;
  const endpoint = provider.introspectionEndpoint ?? configuration.serverMetadata().introspection_endpoint;
  const facts = endpoint ? await introspect(connection, endpoint, token) : await askTokenInfo(provider, token);
  const { issuedTo, sub } = facts;
  if (!issuedTo.some((audience) => provider.nativeAudiences.includes(audience)))
    return refused(`${provider.name}: the token was issued to another application`);
  if (typeof sub !== 'string' || sub === '') return refused(`${provider.name}: the token has no user`);
  return identityFrom(provider.name, await addUserinfo(connection, token, { ...facts.profile, sub }));
}

interface TokenFacts {
  readonly issuedTo: readonly string[];
  readonly sub: unknown;
  readonly profile: Record<string, unknown>;
}

const audiences = (...values: readonly unknown[]): string[] =>
  values.flat().filter((value): value is string => typeof value === 'string' && value !== '');

/** Whom a token was issued to; `aud`, where it is meant for, counts only where that is not told. */
const recipients = (issuedTo: readonly unknown[], aud: unknown): string[] => {
  const told = audiences(...issuedTo);
  return told.length > 0 ? told : audiences(aud);
};

async function introspect(
  { configuration, provider }: Connection,
  endpoint: string,
  token: string,
): Promise<TokenFacts> {
  const known = configuration.serverMetadata() as openid.ServerMetadata;
  const server: openid.ServerMetadata = { ...known, introspection_endpoint: endpoint };
  const asking = new openid.Configuration(
    server,
    provider.clientId,
    provider.clientSecret,
    provider.clientSecret ? openid.ClientSecretBasic(provider.clientSecret) : openid.None(),
  );
  asking.timeout = configuration.timeout;
  if (endpoint.startsWith('http:')) openid.allowInsecureRequests(asking);
  const answer = await openid.tokenIntrospection(asking, token, { token_type_hint: 'access_token' });
  if (answer.active !== true) return refused(`${provider.name}: the token is not live`);
  // RFC 7662 calls it `client_id`.
  return { issuedTo: recipients([answer.client_id, answer.azp], answer.aud), sub: answer.sub, profile: {} };
}

async function askTokenInfo(provider: OidcProvider, token: string): Promise<TokenFacts> {
  if (!provider.tokenInfoEndpoint) return refused(`${provider.name}: there is nobody to ask about tokens`);
  const address = new URL(provider.tokenInfoEndpoint);
  address.searchParams.set('access_token', token);
  const { status, body } = await getJson(address);
  if (status >= 500 || status === 429) throw new Error(`token info answered ${status}`);
  if (status !== 200 || body.error) return refused(`${provider.name}: the token is not live`);
  const expires = Number(body.exp);
  if (Number.isFinite(expires) && expires * 1000 <= Date.now())
    return refused(`${provider.name}: the token has expired`);
  const { email, email_verified, name } = body;
  return { issuedTo: recipients([body.azp], body.aud), sub: body.sub, profile: { email, email_verified, name } };
}

async function askOAuth2(connection: Connection, provider: OAuth2Provider, token: string): Promise<SocialIdentity> {
  if (!provider.tokenInfoEndpoint) return refused(`${provider.name}: there is nobody to ask about tokens`);
  const address = new URL(provider.tokenInfoEndpoint);
  address.searchParams.set('input_token', token);
  address.searchParams.set('access_token', `${provider.clientId}|${provider.clientSecret}`);
  const { status, body } = await getJson(address);
  if (status >= 500 || status === 429) throw new Error(`token info answered ${status}`);
  const data = (body.data ?? {}) as Record<string, unknown>;
  if (status !== 200 || data.is_valid !== true) return refused(`${provider.name}: the token is not live`);
  if (!audiences(data.app_id).some((app) => provider.nativeAudiences.includes(app)))
    return refused(`${provider.name}: the token was issued to another application`);
  const profile = await fetchOAuth2Profile(provider, connection.configuration, token);
  const identity = identityFrom(provider.name, profile);
  if (identity.subject !== String(data.user_id)) return refused(`${provider.name}: the token is somebody else’s`);
  return identity;
}
