// Reads and validates import files: facilities, accounts and clients as JSON (docs/import.md).
import {
  createImportReader,
  type DocumentNode,
  elementsOf,
  findDuplicates,
  timeZoneErrors,
} from '@bay-booking/common/import-document';
import type { FromSchema } from 'json-schema-to-ts';
import { textPattern } from '../accounts/field-rules.ts';
import { accessLevels } from '../clients/metadata.ts';
import { clientSettingSchemas } from '../clients/settings.ts';
import { type FacilityRole, roleNames } from '../facilities/roles.ts';

const line = { type: 'string', minLength: 1, maxLength: 256, pattern: `^${textPattern}$` } as const;
/** A line without spaces at its ends, because the sign-in page removes such spaces from the typed name. */
const username = { ...line, pattern: `^(?!\\s)${textPattern}(?<!\\s)$` } as const;
/** A client id or client secret (RFC 6749 appendix A.1 and A.2). Unlike the RFC, we do not allow spaces. */
const visibleAscii = { type: 'string', minLength: 1, maxLength: 256, pattern: '^[\\u0021-\\u007e]*$' } as const;

const dateTime = { type: 'string', format: 'date-time' } as const;
/** The parameters are limited, because they decide how much memory and time a sign-in takes. */
const argon2id = '^\\$argon2id\\$v=19\\$m=\\d{1,5},t=\\d,p=\\d\\$[A-Za-z0-9+/]{11,}\\$[A-Za-z0-9+/]{22,}$';

const facilityRoles = Object.keys(roleNames) as readonly FacilityRole[];

/** docs/import.md describes every field, and a test checks that none is missing there. */
export const importSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    facilities: {
      type: 'array',
      items: {
        type: 'object',
        required: ['id', 'name'],
        additionalProperties: false,
        properties: { id: line, name: line, timeZone: line },
      },
    },
    accounts: {
      type: 'array',
      items: {
        type: 'object',
        required: ['id', 'username'],
        additionalProperties: false,
        properties: {
          id: line,
          username,
          password: { type: 'string', minLength: 1, maxLength: 256 },
          passwordHash: { type: 'string', maxLength: 512, pattern: argon2id },
          name: line,
          email: line,
          emailVerified: { type: 'boolean' },
          disabled: { type: 'boolean' },
          // For demos and tests.
          totpSecret: { type: 'string', pattern: '^[A-Z2-7]{16,128}$' },
          recoveryCodes: { type: 'array', maxItems: 10, items: line },
          kind: { enum: ['user', 'service'] },
          roles: { type: 'array', items: line },
          memberships: {
            type: 'array',
            items: {
              type: 'object',
              required: ['facilityId', 'role'],
              additionalProperties: false,
              properties: { facilityId: line, role: { enum: facilityRoles } },
            },
          },
        },
      },
    },
    clients: {
      type: 'array',
      items: {
        type: 'object',
        required: ['client_id'],
        // Further fields are OpenID Connect client metadata, which imported-client.ts and oidc-provider check.
        properties: {
          client_id: visibleAscii,
          client_secret: visibleAscii,
          scope: { type: 'string', maxLength: 2000 },
          kind: { enum: ['standard', 'driving-range', 'personal-access-token'] },
          pkce: { enum: ['required', 'optional'] },
          accountId: line,
          access: { enum: accessLevels },
          facilities: { type: 'array', items: line },
          name: line,
          client_secret_hashes: {
            type: 'array',
            maxItems: 10,
            items: {
              type: 'object',
              required: ['sha256'],
              additionalProperties: false,
              properties: { sha256: { type: 'string', pattern: '^[\\w-]{43}$' }, expiresAt: dateTime },
            },
          },
          expiresAt: dateTime,
          disabled: { type: 'boolean' },
          replace: { type: 'boolean' },
          ...clientSettingSchemas,
        },
      },
    },
  },
} as const;

export type ImportDocument = FromSchema<typeof importSchema>;
export type ImportedFacility = NonNullable<ImportDocument['facilities']>[number];
export type ImportedAccount = NonNullable<ImportDocument['accounts']>[number];
export type ImportedClient = NonNullable<ImportDocument['clients']>[number];

/**
 * @throws {ImportError} if the document is not valid. The error lists all problems that are found without the database.
 */
export const readImportDocument = createImportReader<ImportDocument>(importSchema, findRuleErrors, {
  'date-time': { test: isDateTime, hint: 'must be a date-time in UTC' },
});

function findRuleErrors(root: DocumentNode): string[] {
  const accounts = elementsOf(root, 'accounts');
  return [
    ...findDuplicates(elementsOf(root, 'facilities'), 'id'),
    ...elementsOf(root, 'facilities').flatMap(timeZoneErrors),
    ...findDuplicates(accounts, 'id'),
    ...findDuplicates(accounts, 'username', (name) => name.toLowerCase()),
    ...findDuplicates(elementsOf(root, 'clients'), 'client_id'),
    ...accounts.flatMap((account) => findDuplicates(elementsOf(account, 'memberships'), 'facilityId')),
  ];
}

function isDateTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z$/.test(text) && !Number.isNaN(Date.parse(text));
}
