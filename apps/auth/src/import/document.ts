// What may an import file hold, and where is it wrong? The shape of contract section 2, each fault told with its path (RFC 6901).
import { Ajv, type ErrorObject } from 'ajv';
import type { FromSchema } from 'json-schema-to-ts';

const line = { type: 'string', minLength: 1, maxLength: 256, pattern: '^[^\\u0000-\\u001f\\u007f]*$' } as const;
/** What is typed at a sign-in loses the spaces around it. */
const username = { ...line, pattern: '^(?!\\s)[^\\u0000-\\u001f\\u007f]*(?<!\\s)$' } as const;

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
        properties: { id: line, name: line },
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
          name: line,
          email: line,
          emailVerified: { type: 'boolean' },
          kind: { enum: ['user', 'service'] },
          roles: { type: 'array', items: line },
          memberships: {
            type: 'array',
            items: {
              type: 'object',
              required: ['facilityId', 'role'],
              additionalProperties: false,
              properties: { facilityId: line, role: { enum: ['owner', 'staff', 'bookings-manager'] } },
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
        properties: {
          client_id: { type: 'string', minLength: 1, maxLength: 256, pattern: '^[\\u0021-\\u007e]*$' },
          client_secret: { type: 'string', minLength: 1, maxLength: 256, pattern: '^[\\u0021-\\u007e]*$' },
          scope: { type: 'string', maxLength: 2000 },
          kind: { enum: ['standard', 'driving-range', 'personal-access-token'] },
          pkce: { enum: ['required', 'optional'] },
          accountId: line,
          name: line,
        },
      },
    },
  },
} as const;

export type ImportDocument = FromSchema<typeof importSchema>;
export type ImportedFacility = NonNullable<ImportDocument['facilities']>[number];
export type ImportedAccount = NonNullable<ImportDocument['accounts']>[number];
export type ImportedClient = NonNullable<ImportDocument['clients']>[number];

export class ImportError extends Error {
  override readonly name = 'ImportError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`Nothing was imported:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.faults = faults;
  }
}

const validate = new Ajv({ allErrors: true }).compile<ImportDocument>(importSchema);

/** @throws {ImportError} */
export function readImportDocument(text: string): ImportDocument {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw new ImportError([`/: is no JSON (${(error as Error).message})`]);
  }
  if (!validate(document)) throw new ImportError((validate.errors ?? []).map(describe));
  const faults = [
    ...repeated(document.facilities, '/facilities', 'id', ({ id }) => id),
    ...repeated(document.accounts, '/accounts', 'id', ({ id }) => id),
    ...repeated(document.accounts, '/accounts', 'username', ({ username }) => username.toLowerCase()),
    ...repeated(document.clients, '/clients', 'client_id', ({ client_id }) => client_id),
    ...(document.accounts ?? []).flatMap((account, index) =>
      repeated(account.memberships, `/accounts/${index}/memberships`, 'facilityId', ({ facilityId }) => facilityId),
    ),
  ];
  if (faults.length > 0) throw new ImportError(faults);
  return document;
}

function describe({ instancePath, message, params, keyword }: ErrorObject): string {
  if (keyword === 'required') return `${instancePath}/${params.missingProperty}: is missing`;
  if (keyword === 'additionalProperties') return `${instancePath}/${params.additionalProperty}: is not known`;
  const place = instancePath || '/';
  return keyword === 'enum' ? `${place}: must be one of ${params.allowedValues.join(', ')}` : `${place}: ${message}`;
}

function repeated<T>(items: readonly T[] | undefined, path: string, field: string, key: (item: T) => string): string[] {
  const seen = new Map<string, number>();
  return (items ?? []).flatMap((item, index) => {
    const first = seen.get(key(item));
    if (first !== undefined) return [`${path}/${index}/${field}: is the same as ${path}/${first}/${field}`];
    seen.set(key(item), index);
    return [];
  });
}
