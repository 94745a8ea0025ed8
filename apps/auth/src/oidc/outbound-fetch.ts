// Makes oidc-provider send its own requests, such as a request to the `jwks_uri` of a client, with our client for
// outbound requests. Our client refuses addresses in private networks. The library has such a protection too, but if it
// cannot set the protection up, it allows every network.
import type { OutboundClient } from '@bay-booking/service/outbound/client';

/** The time limit of the whole request. */
const timeoutMs = 2_500;
/**
 * The maximum size of a response in bytes, by method. oidc-provider uses no other methods. It sends a POST request only
 * to deliver a logout token, and does not read the body of its response. With the size 0, any body is discarded.
 */
const maxBytes = { GET: 100_000, POST: 0 };
/** The constructor of `Response` throws if a response with one of these statuses has a body. */
const statusesWithoutBody = [204, 205, 304];

/** Returns the setting `fetch` of oidc-provider. */
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
