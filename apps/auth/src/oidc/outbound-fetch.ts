// Lets oidc-provider send requests to addresses of clients, such as `jwks_uri`, through our client for outbound
// requests. The library's own protection allows every network if its set-up fails.
import type { OutboundClient } from '@bay-booking/service/outbound/client';
import './library-warnings.ts';

/** Milliseconds for the whole request. */
const timeout = 2_500;
/** The library ignores the response to a logout token, which is its only POST request. */
const maxBytes = { GET: 100_000, POST: 0 };
const statusesWithoutBody = [204, 205, 304];

/** `fetch` of the configuration. */
export const createOutboundFetch =
  (client: OutboundClient) =>
  async (input: string | URL | Request, { method, headers, body }: RequestInit = {}): Promise<Response> => {
    const allowedMethod = method === 'POST' ? 'POST' : 'GET';
    const response = await client.request(String(input instanceof Request ? input.url : input), {
      method: allowedMethod,
      headers: Object.fromEntries(new Headers(headers)),
      ...(body !== undefined && body !== null && { body: String(body) }),
      timeout,
      maxBytes: maxBytes[allowedMethod],
    });
    const received = new Headers();
    for (const [name, value] of Object.entries(response.headers)) received.set(name, String(value));
    return new Response(statusesWithoutBody.includes(response.status) ? null : new Uint8Array(response.body), {
      status: response.status,
      headers: received,
    });
  };
