// Starts an HTTP proxy in front of a service. For each request, a test decides whether the proxy forwards the request,
// responds without the service, or forwards the request and loses the response.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { serveHttp } from '@bay-booking/testkit/http-server';

/**
 * `forward` forwards the request and its response. `lose` forwards the request, and closes the connection instead of
 * sending the response. If the action is an object, the proxy sends a response with this status and these headers, and
 * does not forward the request.
 */
export type ProxyAction = 'forward' | 'lose' | { readonly status: number; readonly headers?: Record<string, string> };

export interface ProxiedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** The time of arrival in milliseconds, as a value of performance.now(). */
  readonly arrivedAt: number;
}

export type HttpProxy = Awaited<ReturnType<typeof startHttpProxy>>;

export async function startHttpProxy(target: string) {
  const requests: ProxiedRequest[] = [];
  const actions: ProxyAction[] = [];
  const { url, close } = await serveHttp((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url: path = '/', headers } = request;
    requests.push({ method, path, headers, arrivedAt: performance.now() });
    const action = actions.shift() ?? 'forward';
    const body = Buffer.concat(await request.toArray());
    if (typeof action === 'object') {
      response.writeHead(action.status, action.headers).end();
      return;
    }
    // fetch sets these headers itself.
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
    const upstreamHeaders = new Headers(upstream.headers);
    // fetch has decoded the body, so these headers no longer describe the body.
    for (const name of ['content-encoding', 'transfer-encoding']) upstreamHeaders.delete(name);
    response.writeHead(upstream.status, Object.fromEntries(upstreamHeaders)).end(text);
  }

  return {
    base: url,
    /** The requests since the last call of `setActions`. */
    requests,
    /**
     * Sets the actions for the next requests, one action for each request, and empties `requests`. Further requests are
     * forwarded.
     */
    setActions: (...list: readonly ProxyAction[]) => {
      requests.length = 0;
      actions.splice(0, actions.length, ...list);
    },
    close,
  };
}
