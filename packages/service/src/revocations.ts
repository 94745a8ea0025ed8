// Defines the ids of the list of revocations. An id is the hash of a right, such as `client ID`, so the list reveals no
// ids of clients and accounts. In the schema of auth, `add_revocation` computes the same hash.
import { hash } from 'node:crypto';

/** The claims of an access token that its revocation depends on. */
export interface RevocableToken {
  readonly tokenId: string | undefined;
  readonly clientId: string;
  readonly grantId: string | undefined;
  readonly subject: string;
  readonly facilities: readonly string[];
}

const idOf = (...right: readonly (string | undefined)[]): string => hash('sha256', right.join(' '), 'base64url');

/** Returns the ids of every right that the token depends on. */
export const revocationIdsOf = ({ tokenId, clientId, grantId, subject, facilities }: RevocableToken) => [
  idOf('token', tokenId),
  idOf('client', clientId),
  idOf('grant', grantId),
  idOf('account', subject),
  ...facilities.flatMap((facility) => [
    idOf('facility', facility),
    idOf('access', subject, facility),
    idOf('client-access', clientId, facility),
  ]),
];

type RightKind = 'client' | 'client-access' | 'grant' | 'account' | 'access' | 'facility';

/** Returns the SQL expression for the id of a right. `columns` are the columns that follow the kind of the right. */
export const revocationIdInSql = (kind: RightKind, ...columns: readonly string[]) => {
  const right = [`'${kind}'`, ...columns].join(" || ' ' || ");
  return `translate(encode(sha256(convert_to(${right}, 'UTF8')), 'base64'), '+/=', '-_')`;
};
