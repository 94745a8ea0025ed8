// Starts a receiver of webhooks that verifies signatures with the library of Standard Webhooks, and that a test can
// make fail.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

export type ReceiverBehaviour =
  | { readonly kind: 'respond'; readonly status: number; readonly headers?: Record<string, string> }
  | { readonly kind: 'hang' };

export interface LatestEvent {
  readonly modified: number;
  readonly isDeleted: boolean;
  readonly booking: Readonly<Record<string, unknown>>;
}

interface Event {
  readonly type: string;
  readonly data: { facilityId: string; modified: number; booking: { readonly id: string } };
}

export interface WebhookReceiver {
  readonly url: string;
  /** The event with the highest number that the receiver accepted, by facility and id of the booking. */
  readonly latest: ReadonlyMap<string, LatestEvent>;
  /** The number of requests so far, also those that failed. */
  readonly requests: () => number;
  /** Paths other than that of the webhook, which only a client that follows redirects would request. */
  readonly strayPaths: readonly string[];
  /** Sets the secret of the webhook, which verifies the signatures. */
  readonly setSecret: (secret: string) => void;
  /** Sets the behaviour from now on. Requests that hang are broken off. */
  readonly behave: (behaviour: ReceiverBehaviour) => void;
  readonly close: () => Promise<void>;
}

export const healthy: ReceiverBehaviour = { kind: 'respond', status: 204 };
const path = '/hook';

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const latest = new Map<string, LatestEvent>();
  const hanging = new Set<ServerResponse>();
  const strayPaths: string[] = [];
  let requests = 0;
  let behaviour = healthy;
  let secret = '';

  const accept = (headers: IncomingHttpHeaders, body: string): void => {
    new Webhook(secret).verify(body, headers as Record<string, string>);
    const { type, data } = JSON.parse(body) as Event;
    const { facilityId, modified, booking } = data;
    const key = `${facilityId} ${booking.id}`;
    if ((latest.get(key)?.modified ?? 0) <= modified)
      latest.set(key, { modified, isDeleted: type === 'booking.deleted', booking });
  };

  const server = createServer(async (request, response) => {
    requests += 1;
    if (request.url !== path) strayPaths.push(request.url ?? '');
    let body = '';
    for await (const chunk of request) body += chunk;
    if (behaviour.kind === 'hang') {
      hanging.add(response);
      return;
    }
    // A receiver that does not accept the signature responds with 400, and the test then misses the event.
    try {
      if (behaviour.status < 300) accept(request.headers, body);
      response.writeHead(behaviour.status, behaviour.headers).end();
    } catch {
      response.writeHead(400).end();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    latest,
    requests: () => requests,
    strayPaths,
    setSecret: (text) => {
      secret = text;
    },
    behave: (next) => {
      behaviour = next;
      for (const response of hanging) response.destroy();
      hanging.clear();
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
