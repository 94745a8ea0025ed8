// Sends HTTP requests to URLs that partners have chosen, but connects only to public and allowed IP addresses.
//
// The client connects to the IP addresses that it has checked, so an attacker cannot change them in between (DNS
// rebinding). It does not follow redirects. Partners choose the URLs of webhooks, key sets and logout endpoints, and
// could otherwise make the service send requests into its own network (CWE-918).
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

export interface OutboundClientOptions {
  /** Networks in CIDR notation that are allowed in addition to public IP addresses, also with http. */
  readonly allowNetworks: readonly string[];
  /** Default: 20. */
  readonly maxConnectionsPerHost?: number;
}

export interface OutboundRequest {
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Covers resolving the name, sending and reading the response, in ms. */
  readonly timeout: number;
  /** A larger body is an error. If 0, any body is discarded. */
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

/** If a discarded body is larger, its connection is closed instead of reused. */
const maxDiscardedBytes = 65_536;

export function createOutboundClient({ allowNetworks, maxConnectionsPerHost = 20 }: OutboundClientOptions) {
  const isAllowedNetwork = createNetworkCheck(allowNetworks);
  const isAllowed = (address: string, protocol: string): boolean =>
    isAllowedNetwork(address) || (protocol === 'https:' && isPublicAddress(address));

  const resolveName = createResolver();
  const resolveAllowed = async (hostname: string, protocol: string): Promise<readonly LookupAddress[]> => {
    const allowed = (await resolveName(hostname)).filter(({ address }) => isAllowed(address, protocol));
    if (allowed.length === 0) throw new AddressNotAllowed(`${hostname} has no address that is allowed`);
    return allowed;
  };

  const settings = { keepAlive: true, maxSockets: maxConnectionsPerHost, maxFreeSockets: 2, timeout: 30_000 };
  const agents = { 'http:': new http.Agent(settings), 'https:': new https.Agent(settings) };

  /**
   * Returns undefined, or a phrase that says how the URL must change. A host name's IP addresses are checked at each
   * request.
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
    // A name can use http if one of its IP addresses is in an allowed network.
    if (url.protocol === 'http:' && allowNetworks.length === 0) return 'must be an https address';
    return undefined;
  };

  return {
    urlError,

    /** @throws {AddressNotAllowed} if the URL is not allowed, or none of its host's IP addresses is allowed */
    request: async (address: string, request: OutboundRequest): Promise<OutboundResponse> => {
      const reason = urlError(address);
      if (reason !== undefined) throw new AddressNotAllowed(`the address ${reason}`);
      const url = new URL(address);
      const protocol = url.protocol as 'http:' | 'https:';
      const signal = AbortSignal.timeout(request.timeout);
      const host = hostOf(url);
      if (isIP(host) !== 0) return send(url, request, { agent: agents[protocol], signal });
      // The name is also checked if an open connection to one of its earlier IP addresses is reused.
      const addresses = await untilAborted(resolveAllowed(host, protocol), signal);
      return send(url, request, { agent: agents[protocol], signal, lookup: lookupOf(addresses) });
    },

    close: (): void => {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

function send(url: URL, request: OutboundRequest, options: http.RequestOptions): Promise<OutboundResponse> {
  const { method, body, maxBytes } = request;
  const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
  const { promise, resolve, reject } = Promise.withResolvers<OutboundResponse>();
  const { request: startRequest } = url.protocol === 'https:' ? https : http;
  const sent = startRequest(url, { ...options, method, headers: { ...request.headers, ...length } });
  sent.once('error', reject);
  sent.once('response', (response) => {
    response.once('error', reject);
    const { statusCode: status = 0, headers } = response;
    if (maxBytes === 0) {
      discard(response);
      resolve({ status, headers, body: Buffer.alloc(0) });
    } else readBody(response, maxBytes).then((content) => resolve({ status, headers, body: content }), reject);
  });
  sent.end(body);
  return promise;
}

/** The URL parser has normalised IPv4 addresses that are decimal, octal or hexadecimal numbers. */
const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

/** Simultaneous requests share a lookup, because lookups occupy Node's few threads. */
function createResolver(): Resolve {
  const running = new Map<string, Promise<readonly LookupAddress[]>>();
  return (hostname) => {
    const found = running.get(hostname) ?? lookup(hostname, { all: true }).finally(() => running.delete(hostname));
    running.set(hostname, found);
    return found;
  };
}

/** Node cannot abort the lookup itself. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = once(signal, 'abort').then(() => Promise.reject(signal.reason));
  return Promise.race([work, aborted]);
}

const lookupOf =
  (addresses: readonly LookupAddress[]): LookupFunction =>
  (_hostname, options, callback) => {
    // `resolveAllowed` never returns an empty list.
    const [first] = addresses as readonly [LookupAddress];
    if (options.all) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  };

/** Reads a short body completely, so that the connection can be reused. */
function discard(response: http.IncomingMessage): void {
  let remaining = maxDiscardedBytes;
  response.on('data', (chunk: Buffer) => {
    remaining -= chunk.length;
    if (remaining < 0) response.destroy();
  });
  // The request's timeout also ends an endless body. The caller does not need that error.
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

/** Contains all public IPv6 addresses. The library also calls networks unicast that are not assigned. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/** IPv6 addresses that contain an IPv4 address (mapped, NAT64, 6to4) do not count as public. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  return parsed.range() === 'unicast' && (parsed instanceof ipaddr.IPv4 || parsed.match(globalUnicast));
}

/** @throws {Error} if a network is neither an IP address nor in CIDR notation */
export function createNetworkCheck(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [, address = '', prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(network) ?? [];
    const version = isIP(address);
    if (version === 0) throw new Error(`${network} is not a network in CIDR notation`);
    list.addSubnet(address, Number(prefix ?? (version === 4 ? 32 : 128)), version === 4 ? 'ipv4' : 'ipv6');
  }
  return (address) => isIP(address) !== 0 && list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
}
