// Reads clients for oidc-provider, which never writes them.
//
// Every request reads its client from the database, so the first request after a client was disabled is rejected.
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
