// Starts an HTTP proxy in front of a service. A test decides for each request whether the proxy forwards it, responds
// itself, or loses the response.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** `lose` forwards the request and closes the connection instead of sending the response. */
export type ProxyAction = 'forward' | 'lose' | { readonly status: number; readonly headers?: Record<string, string> };

export interface ProxiedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** The time at which the request arrived, as a value of performance.now(). */
  readonly at: number;
}

export interface HttpProxy {
  readonly base: string;
  readonly requests: readonly ProxiedRequest[];
  /**
   * Sets the actions for the next requests, one after the other. All further requests are forwarded. Removes the
   * earlier requests from `requests`.
   */
  readonly next: (...actions: readonly ProxyAction[]) => void;
  readonly close: () => Promise<void>;
}

export async function startHttpProxy(target: string): Promise<HttpProxy> {
  const requests: ProxiedRequest[] = [];
  const actions: ProxyAction[] = [];
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url: path = '/', headers } = request;
    requests.push({ method, path, headers, at: performance.now() });
    const action = actions.shift() ?? 'forward';
    const body = Buffer.concat(await request.toArray());
    if (typeof action === 'object') {
      response.writeHead(action.status, action.headers).end();
      return;
    }
    const { host: _host, connection: _connection, 'content-length': _length, ...forwarded } = headers;
    const upstream = await fetch(target + path, {
      method,
      headers: forwarded as Record<string, string>,
      ...(body.length > 0 && { body }),
    });
    const text = await upstream.text();
    if (action === 'lose') {
      request.socket.destroy();
      return;
    }
    const {
      'content-encoding': _encoding,
      'transfer-encoding': _transfer,
      ...kept
    } = Object.fromEntries(upstream.headers);
    response.writeHead(upstream.status, kept).end(text);
  }

  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    next: (...list) => {
      requests.length = 0;
      actions.splice(0, actions.length, ...list);
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
