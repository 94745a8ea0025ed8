// Would the running server accept this client? The metadata goes through oidc-provider's own schema under the same settings, so that a
// client that was imported never breaks when it is used.
import { exportJWK, generateKeyPair } from 'jose';
import { type ClientMetadata, Provider } from 'oidc-provider';
import { signingAlgorithms } from '../signing-keys/store.ts';
import { allowLoopbackImplicit } from './client-policy.ts';
import { clientSettings, ownGrantTypes } from './client-schema.ts';

export type ClientCheck = (metadata: ClientMetadata) => Promise<string | undefined>;

/** Answers what is wrong with a client's metadata, beginning with the name of the field where the library tells it. */
export async function createClientCheck({
  issuer,
  development,
}: {
  issuer: string;
  development: boolean;
}): Promise<ClientCheck> {
  const keys = await Promise.all(
    signingAlgorithms.map(async (alg) => {
      const { privateKey } = await generateKeyPair(alg, { extractable: true });
      return { ...(await exportJWK(privateKey)), alg, use: 'sig', kid: alg };
    }),
  );
  const provider = new Provider(issuer, { ...clientSettings, adapter: nowhere, jwks: { keys: keys as never } });
  for (const grantType of ownGrantTypes) provider.registerGrantType(grantType, () => {}, []);
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

const nowhere = () => ({
  upsert: async () => {},
  find: async () => undefined,
  findByUid: async () => undefined,
  findByUserCode: async () => undefined,
  consume: async () => {},
  destroy: async () => {},
  revokeByGrantId: async () => {},
});
