// Sends oidc-provider's requests with our client, which rejects IP addresses in private networks.
import type { OutboundClient } from '@bay-booking/service/outbound';

const timeoutMs = 2_500;
/** oidc-provider sends POST only for logout tokens, and does not read the response. */
const maxBytes = { GET: 100_000, POST: 0 };
/** `Response` must not have a body with these statuses. */
const statusesWithoutBody = [204, 205, 304];

export const createOutboundFetch =
  (client: OutboundClient) =>
  async (input: string | URL | Request, { method, headers, body }: RequestInit = {}): Promise<Response> => {
    const allowedMethod = method === 'POST' ? 'POST' : 'GET';
    const response = await client.request(String(input instanceof Request ? input.url : input), {
      method: allowedMethod,
      headers: Object.fromEntries(new Headers(headers)),
      ...(body !== undefined && body !== null && { body: String(body) }),
      timeout: timeoutMs,
      maxBytes: maxBytes[allowedMethod],
    });
    const received = new Headers();
    for (const [name, value] of Object.entries(response.headers)) received.set(name, String(value));
    return new Response(statusesWithoutBody.includes(response.status) ? null : new Uint8Array(response.body), {
      status: response.status,
      headers: received,
    });
  };
