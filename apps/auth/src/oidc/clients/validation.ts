// Validates the metadata of imported clients with the client schema of oidc-provider.
import { createOutboundClient } from '@bay-booking/service/outbound';
import { isLoopback } from '@bay-booking/service/public-address';
import { exportJWK, generateKeyPair } from 'jose';
import { type Adapter, type ClientMetadata, Provider } from 'oidc-provider';
import { signingAlgorithms } from '../../signing-keys/store.ts';
import { clientSettings, customGrantTypes, ownMetadata } from './registered-client.ts';

export interface ClientMetadataError {
  readonly member?: string | undefined;
  readonly reason: string;
}

export type ClientValidator = Awaited<ReturnType<typeof createClientValidator>>;

export async function createClientValidator({
  issuer,
  isDevelopment,
  allowNetworks,
}: {
  issuer: string;
  isDevelopment: boolean;
  allowNetworks: readonly string[];
}) {
  const provider = new Provider(issuer, {
    ...clientSettings,
    // The validation stores and finds nothing.
    adapter: () => ({}) as Adapter,
    jwks: { keys: await Promise.all(signingAlgorithms.map(temporaryKey)) },
  });
  // The validation needs only the names of the grant types.
  for (const grantType of customGrantTypes) provider.registerGrantType(grantType, () => {}, []);
  if (isDevelopment) allowLoopbackRedirects(provider);
  const internalMembers: readonly string[] = ownMetadata;
  const findFirstError = async (metadata: ClientMetadata): Promise<ClientMetadataError | undefined> => {
    try {
      await provider.Client.validate(metadata);
      return undefined;
    } catch (error) {
      return parseMessage((error as { error_description?: string }).error_description ?? (error as Error).message);
    }
  };

  return {
    isDevelopment,

    /** Returns names that are not client metadata or that only our own code may set. */
    findUnknown: (members: readonly string[]) =>
      members.filter((member) => internalMembers.includes(member) || !isKnown(provider, member)),

    addressError: createOutboundClient({ allowNetworks }).urlError,

    /** oidc-provider names only the first error, so the client is validated again without the members that have one. */
    async findErrors(client: ClientMetadata): Promise<readonly ClientMetadataError[]> {
      const errors: ClientMetadataError[] = [];
      for (let metadata = client; ; ) {
        const error = await findFirstError(metadata);
        if (!error) return errors;
        const { member } = error;
        const isRepeated = errors.some((earlier) => earlier.member === member);
        if (!isRepeated) errors.push(error);
        if (isRepeated || member === undefined || !(member in metadata)) return errors;
        const { [member]: _, ...others } = metadata;
        metadata = others as ClientMetadata;
      }
    },
  };
}

type SchemaConstructor = new (metadata: Record<string, unknown>) => object;

const minimalClient = {
  client_id: 'minimal',
  token_endpoint_auth_method: 'none',
  grant_types: [],
  response_types: [],
  redirect_uris: [],
};

/** oidc-provider has no list of the members, but its schema drops each member that it does not know. */
function isKnown(provider: Provider, member: string): boolean {
  const { Schema } = provider.Client as unknown as { Schema: SchemaConstructor };
  try {
    return Object.hasOwn(new Schema({ ...minimalClient, [member]: null }), member);
  } catch {
    // The schema has rejected the value null, so it knows the member.
    return true;
  }
}

const ignoredErrors: ReadonlySet<string> = new Set(['implicit-force-https', 'implicit-forbid-localhost']);

interface ClientSchema {
  readonly redirect_uris?: readonly string[];
  invalidate(message: string, code?: string): void;
}

/** Allows clients of the implicit flow to have `http://localhost` redirect URIs in development. */
export function allowLoopbackRedirects(provider: Provider): void {
  // The types of oidc-provider do not declare `Schema`, which calls `invalidate` for each error in the metadata.
  const schema = (provider.Client as unknown as { Schema: { prototype: ClientSchema } }).Schema.prototype;
  const { invalidate } = schema;
  schema.invalidate = function invalidateUnlessLoopback(this: ClientSchema, message: string, code?: string): void {
    const uris = this.redirect_uris ?? [];
    const isHttpsOrLoopback = uris.every((uri) => URL.parse(uri)?.protocol === 'https:' || isLoopback(uri));
    if (code !== undefined && ignoredErrors.has(code) && isHttpsOrLoopback) return;
    invalidate.call(this, message, code);
  };
}

/** For example, `redirect_uris must not contain fragments`. */
function parseMessage(message: string): ClientMetadataError {
  const [, member, reason] = /^([a-z_]+) ((?:must|can|is|includes|for) .*)$/s.exec(message) ?? [];
  return member !== undefined && reason !== undefined ? { member, reason } : { reason: message };
}

/** oidc-provider accepts only algorithms that it has a key for. */
async function temporaryKey(alg: string) {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), alg, use: 'sig', kid: alg };
}
