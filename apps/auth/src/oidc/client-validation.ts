// Validates the metadata of an imported client with oidc-provider's own schema, under the settings of the running server.
import { exportJWK, generateKeyPair } from 'jose';
import { type ClientMetadata, Provider } from 'oidc-provider';
import { signingAlgorithms } from '../signing-keys/store.ts';
import { allowLoopbackImplicit } from './client-policy.ts';
import { clientSettings } from './client-schema.ts';
import { customGrantTypes } from './grant-types.ts';

/** Returns what is wrong with the metadata, or undefined. The text begins with the name of the member if the library names one. */
export type ClientCheck = (metadata: ClientMetadata) => Promise<string | undefined>;

export async function createClientCheck({
  issuer,
  development,
}: {
  issuer: string;
  development: boolean;
}): Promise<ClientCheck> {
  const provider = new Provider(issuer, {
    ...clientSettings,
    adapter: () => emptyAdapter,
    jwks: { keys: (await Promise.all(signingAlgorithms.map(temporaryKey))) as never },
  });
  for (const grantType of customGrantTypes) provider.registerGrantType(grantType, () => {}, []);
  if (development) allowLoopbackImplicit(provider);
  return async (metadata) => {
    try {
      await provider.Client.validate(metadata);
      return undefined;
    } catch (error) {
      return (error as { error_description?: string }).error_description ?? (error as Error).message;
    }
  };
}

/** The schema accepts only signing algorithms for which the provider has a key. */
async function temporaryKey(alg: string) {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), alg, use: 'sig', kid: alg };
}

const emptyAdapter = {
  upsert: async () => {},
  find: async () => undefined,
  findByUid: async () => undefined,
  findByUserCode: async () => undefined,
  consume: async () => {},
  destroy: async () => {},
  revokeByGrantId: async () => {},
};
