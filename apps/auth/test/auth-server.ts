// Starts an authorization server for a test file, and contains small helpers for requests to the server.
import type { Database } from '@bay-booking/service/database/database';
import { loadOnce } from '@bay-booking/testkit/load-once';
import { afterAll } from '@jest/globals';

const system = await loadOnce<typeof import('./auth-system.ts')>(new URL('./auth-system.ts', import.meta.url));
export const { audience, cheapHash, encryptionKey, quietLogger, scopeBase, scopes, serverGlobals, statusAndBody } =
  system;
export const { connectDatabase, createAccountRecords, createAudit, createClientValidator } = system;
export const { createKeyStore, deleteExpiredRows, importFile, reencryptEmails, WrongEncryptionKey } = system;
export type AuthServer = Awaited<ReturnType<typeof startAuthServer>>;

/** The `close` functions of the servers of this test file. Jest cannot end while a server runs. */
const closeFunctions: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closeFunctions) await close();
});

/** Starts a server as `startAuthServer` of auth-system.ts does, and closes it after the tests of the file. */
export const startAuthServer: typeof system.startAuthServer = async (...options) => {
  const server = await system.startAuthServer(...options);
  closeFunctions.push(server.close);
  return server;
};

/**
 * Changes the database as if all codes and refresh tokens had been used 1.1 s earlier. A second use less than a second
 * after the first one revokes nothing.
 */
export const passSecondAfterUse = async (db: Database): Promise<void> => {
  await db.raw("update oidc_artifact set consumed_at = consumed_at - interval '1.1 seconds'");
};

/** The form of a token request with the personal access token of the demo. */
export const patForm = {
  grant_type: 'client_credentials',
  client_id: 'demo-pat-north',
  client_secret: 'demo-pat-north-secret',
  scope: scopes.bookings,
};

/** Returns the header for HTTP Basic, in which OAuth clients percent-encode both values (RFC 6749 section 2.3.1). */
export const basic = (id: string, secret: string): Record<string, string> => ({
  Authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
});

export interface LoggedMail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Returns the e-mails of a server without SMTP_URL, which writes them to its log. */
export const mailsInLog = ({ log }: Pick<AuthServer, 'log'>): readonly LoggedMail[] =>
  log.map((line) => JSON.parse(line)).flatMap(({ mail }) => (mail ? [mail] : []));
