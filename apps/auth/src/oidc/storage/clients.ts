// Reads clients for oidc-provider. Every request reads the database, so a disabled client is rejected at once.
import type { Adapter, AdapterPayload } from 'oidc-provider';
import { orUnavailable } from '../unavailable.ts';

export interface ClientOptions {
  readonly findClient: (id: string) => Promise<AdapterPayload | undefined>;
}

const readOnly = async (): Promise<never> => {
  throw new Error('oidc-provider must not write clients: they are imported, or created in the portal');
};
const notFound = async (): Promise<undefined> => undefined;

export const createClientAdapter = ({ findClient }: ClientOptions): Adapter => ({
  find: (id) => orUnavailable(() => findClient(id)),
  findByUid: notFound,
  findByUserCode: notFound,
  upsert: readOnly,
  consume: readOnly,
  destroy: readOnly,
  revokeByGrantId: readOnly,
});
