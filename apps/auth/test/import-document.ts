// Types of import files, for the tests that write them.
import type { AccountInput } from '../src/accounts/record-store.ts';
import type { ImportedClient } from '../src/oidc/clients/stored-client.ts';

interface ImportedFacility {
  readonly id: string;
  readonly name: string;
  readonly timeZone?: string;
  readonly disabled?: boolean;
}

export interface ImportDocument {
  readonly facilities?: readonly ImportedFacility[];
  readonly accounts?: readonly AccountInput[];
  readonly clients?: readonly ImportedClient[];
}
