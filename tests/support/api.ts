// Sends requests to the Bookings API with an access token.

export interface ApiResponse<Body> {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON body, or undefined when the response has no body. */
  readonly body: Body;
}

/**
 * Sends a request to the instance of bookings at the address `base`.
 * @throws {Error} when there is no complete response within 20 s
 */
export async function callApi<Body = unknown>(
  base: string,
  token: string,
  method: string,
  path: string,
  body?: object,
): Promise<ApiResponse<Body>> {
  const response = await fetch(base + path, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(20_000),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: (text ? JSON.parse(text) : undefined) as Body };
}
