// Starts a server with the management API, and sends requests to it as an operator.
import { startSmtpSink } from '@bay-booking/testkit/smtp-sink';
import { scopeBase, startAuthServer } from './auth-server.ts';
import { createKeyClient } from './key-client.ts';

export const operateAuth = `${scopeBase}/operate/auth`;
export const operateBookings = `${scopeBase}/operate/bookings`;

export async function startManagementServer() {
  const smtp = await startSmtpSink();
  const server = await startAuthServer({ MANAGEMENT: 'on', SMTP_URL: smtp.url });
  const operator = await createKeyClient('operator', server.origin);
  await server.load({
    clients: [
      {
        client_id: 'operator',
        token_endpoint_auth_method: 'private_key_jwt',
        grant_types: ['client_credentials'],
        scope: `${operateAuth} ${operateBookings}`,
        jwks: { keys: [operator.publicJwk] },
      },
    ],
  });
  const requestToken = async (form: Record<string, string> = { scope: operateAuth }) =>
    server.post('/connect/token', { grant_type: 'client_credentials', ...(await operator.authenticate()), ...form });
  const { access_token: token } = (await (await requestToken()).json()) as { access_token: string };

  /** Sends a request to a path below /management. */
  const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(`${server.origin}/management${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json');
    return {
      status: response.status,
      body: (text === '' || !isJson ? {} : JSON.parse(text)) as Record<string, unknown>,
      etag: response.headers.get('etag') ?? '',
      headers: response.headers,
    };
  };
  return {
    server,
    smtp,
    token,
    send,
    requestToken,
    events: async (query = '') => (await send('GET', `/audit?${query}`)).body.items as Record<string, unknown>[],
    close: async () => {
      await server.close();
      await smtp.close();
    },
  };
}
