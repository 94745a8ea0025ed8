// Sends HTTP requests to addresses that partners have chosen, and only to public addresses.
//
// The client resolves a name itself, for every request, and connects only to the addresses that it has checked. This
// prevents attacks with a name whose address changes between the check and the connection (DNS rebinding). The client
// does not follow redirects.
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import http from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { createNetworkCheck, isPublicAddress } from './addresses.ts';

export interface OutboundClientOptions {
  /**
   * Networks in CIDR notation that are allowed in addition to public addresses. Requests to these networks can use
   * http.
   */
  readonly allowNetworks: readonly string[];
  /** The maximum number of open connections to one host. */
  readonly maxConnectionsPerHost?: number;
}

export interface OutboundRequest {
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** In milliseconds, for the whole request: resolving the name, connecting, sending, and reading the response. */
  readonly timeout: number;
  /** The maximum size of the response body. A larger body is an error. With 0, any body is accepted and discarded. */
  readonly maxBytes: number;
}

export interface OutboundResponse {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

export type OutboundClient = ReturnType<typeof createOutboundClient>;

export class AddressNotAllowed extends Error {
  override readonly name = 'AddressNotAllowed';
}

/** If a discarded body has more bytes than this, the connection is closed instead of reused. */
const maxDrainedBytes = 65_536;

export function createOutboundClient({ allowNetworks, maxConnectionsPerHost = 20 }: OutboundClientOptions) {
  const isAllowedNetwork = createNetworkCheck(allowNetworks);
  const isAllowed = (address: string, protocol: string): boolean =>
    isAllowedNetwork(address) || (protocol === 'https:' && isPublicAddress(address));

  const resolve = createResolver();
  /**
   * Resolves a name to its allowed addresses.
   * @throws {AddressNotAllowed} if the name has no allowed address
   * @throws {Error} if the name cannot be resolved
   */
  const resolveAllowed = async (hostname: string, protocol: string): Promise<readonly LookupAddress[]> => {
    const allowed = (await resolve(hostname)).filter(({ address }) => isAllowed(address, protocol));
    if (allowed.length === 0) throw new AddressNotAllowed(`${hostname} has no address that is allowed`);
    return allowed;
  };

  const settings = { keepAlive: true, maxSockets: maxConnectionsPerHost, maxFreeSockets: 2, timeout: 30_000 };
  const agents = { 'http:': new HttpAgent(settings), 'https:': new HttpsAgent(settings) };

  /**
   * Returns why a URL is not allowed, or undefined if it is. Only the URL itself is checked. Its name is resolved when
   * a request is sent.
   */
  const urlError = (address: string): string | undefined => {
    const url = URL.parse(address);
    if (!url || !/^https?:$/.test(url.protocol)) return 'must be an https address';
    if (url.username !== '' || url.password !== '') return 'must not contain user information';
    if (url.hash !== '') return 'must not contain a fragment';
    const host = hostOf(url);
    if (isIP(host) !== 0) {
      if (isAllowed(host, url.protocol)) return undefined;
      return isPublicAddress(host) ? 'must be an https address' : 'must lead to a public address';
    }
    if (url.protocol === 'http:' && allowNetworks.length === 0) return 'must be an https address';
    return undefined;
  };

  return {
    urlError,

    /**
     * Sends a request.
     * @throws {AddressNotAllowed} if the URL or all addresses of its name are not allowed
     * @throws {Error} if the name cannot be resolved, the connection fails, the timeout ends or the body is too long
     */
    request: async (address: string, request: OutboundRequest): Promise<OutboundResponse> => {
      const reason = urlError(address);
      if (reason !== undefined) throw new AddressNotAllowed(`the address ${reason}`);
      const url = new URL(address);
      const protocol = url.protocol as 'http:' | 'https:';
      const signal = AbortSignal.timeout(request.timeout);
      const host = hostOf(url);
      const addresses = isIP(host) === 0 ? await untilAborted(resolveAllowed(host, protocol), signal) : undefined;
      const { promise, resolve, reject } = Promise.withResolvers<OutboundResponse>();
      const options: CheckedRequestOptions = {
        method: request.method,
        headers: {
          ...request.headers,
          ...(request.body !== undefined && { 'Content-Length': Buffer.byteLength(request.body) }),
        },
        agent: agents[protocol],
        ...(addresses && { lookup: lookupOf(addresses), addresses: addresses.map(({ address }) => address) }),
        signal,
      };
      const sent = (protocol === 'https:' ? https : http).request(url, options);
      sent.once('error', reject);
      sent.once('response', (response) => {
        response.once('error', reject);
        const { statusCode: status = 0, headers } = response;
        if (request.maxBytes === 0) {
          discard(response);
          resolve({ status, headers, body: Buffer.alloc(0) });
        } else readBody(response, request.maxBytes).then((body) => resolve({ status, headers, body }), reject);
      });
      sent.end(request.body);
      return promise;
    },

    close: (): void => {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/**
 * Returns the host of a URL, without the brackets of IPv6 addresses. The URL parser has already normalised IPv4
 * addresses that are written as decimal, octal or hexadecimal numbers.
 */
const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

/** Concurrent requests to the same name share one lookup, because lookups occupy the few threads of Node. */
function createResolver(): Resolve {
  const running = new Map<string, Promise<readonly LookupAddress[]>>();
  return (hostname) => {
    const found = running.get(hostname) ?? lookup(hostname, { all: true }).finally(() => running.delete(hostname));
    running.set(hostname, found);
    return found;
  };
}

/** Waits for `work`, and rejects if the signal aborts earlier. A lookup of a name cannot be aborted itself. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Creates a lookup function that returns the given addresses, which were already checked. */
const lookupOf =
  (addresses: readonly LookupAddress[]): LookupFunction =>
  (_hostname, options, callback) => {
    const [first] = addresses as readonly [LookupAddress];
    if (options.all) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  };

interface CheckedRequestOptions extends https.RequestOptions {
  readonly addresses?: readonly string[];
}

/**
 * The name under which an agent stores a connection. A connection is reused only if its host has the same addresses.
 */
const connectionName = (name: string, { addresses = [] }: CheckedRequestOptions): string =>
  [name, ...addresses.toSorted()].join(' ');

class HttpAgent extends http.Agent {
  override getName(options: CheckedRequestOptions = {}): string {
    return connectionName(super.getName(options as http.AgentOptions), options);
  }
}

class HttpsAgent extends https.Agent {
  override getName(options: CheckedRequestOptions = {}): string {
    return connectionName(super.getName(options), options);
  }
}

/**
 * Reads a short body to its end, so that the connection can be reused. If the body is longer, closes the connection.
 */
function discard(response: http.IncomingMessage): void {
  let left = maxDrainedBytes;
  response.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) response.destroy();
  });
  // The timeout of the request also aborts a body that never ends. The error is ignored, because the caller already has
  // the response.
  response.on('error', () => {});
}

async function readBody(response: http.IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) {
      response.destroy();
      throw new Error(`the response is longer than ${maxBytes} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
