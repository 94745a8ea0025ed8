// Sends HTTP requests to addresses that partners have chosen, and only to public addresses.
//
// The client resolves a name itself, for every request, and connects to exactly the addresses that it has checked, so
// that a name whose address changes between check and connection (DNS rebinding) gains nothing. It follows no redirect.
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import http from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { createNetworkCheck, isPublicAddress } from './addresses.ts';

export interface OutboundClientOptions {
  /** Networks in CIDR notation that are allowed besides public addresses; http is allowed for them as well. */
  readonly allowNetworks: readonly string[];
  /** At most this many connections are open to one host. */
  readonly maxConnectionsPerHost?: number;
}

export interface OutboundRequest {
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Milliseconds for the whole request: name, connection, request and response. */
  readonly timeout: number;
  /** The longest body that is read. With 0, the body is discarded. A longer body is an error. */
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

/** A connection is reused only if the receiver's response has no more than this many bytes after its headers. */
const maxDrainedBytes = 65_536;

export function createOutboundClient({ allowNetworks, maxConnectionsPerHost = 20 }: OutboundClientOptions) {
  const isAllowedNetwork = createNetworkCheck(allowNetworks);
  const isAllowed = (address: string, protocol: string): boolean =>
    isAllowedNetwork(address) || (protocol === 'https:' && isPublicAddress(address));

  const resolve = createResolver();
  /** @throws {AddressNotAllowed} if the name leads to no allowed address, or an Error if it leads nowhere */
  const resolveAllowed = async (hostname: string, protocol: string): Promise<readonly LookupAddress[]> => {
    const allowed = (await resolve(hostname)).filter(({ address }) => isAllowed(address, protocol));
    if (allowed.length === 0) throw new AddressNotAllowed(`${hostname} has no address that is allowed`);
    return allowed;
  };

  const settings = { keepAlive: true, maxSockets: maxConnectionsPerHost, maxFreeSockets: 2, timeout: 30_000 };
  const agents = { 'http:': new HttpAgent(settings), 'https:': new HttpsAgent(settings) };

  /** Why the form of an address is not allowed, or undefined. Names are resolved only when a request is sent. */
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

    /** @throws {AddressNotAllowed}, or an Error for a failed connection, a timeout or a body that is too long */
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
 * IPv6 addresses are in brackets in a URL. The URL parser has normalised decimal, octal and hexadecimal IPv4 addresses.
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

/** Rejects when the signal aborts before the work ends. A lookup itself cannot be aborted. */
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

/** A lookup that returns addresses that were checked before. */
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

/** A request reuses a connection only if the name still leads to the same addresses. */
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

/** Reads a short body to its end, so that the connection can be reused, and closes the connection for a longer one. */
function discard(response: http.IncomingMessage): void {
  let left = maxDrainedBytes;
  response.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) response.destroy();
  });
  // The request's timeout also ends a body that never ends; nobody waits for it any more.
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
