// Starts a receiver of webhooks. The receiver verifies each signature with the library standardwebhooks. A test can
// make the receiver fail.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

/** The environment variables that an instance of bookings needs to deliver webhooks to this machine. */
export const webhookEnvironment = {
  WEBHOOK_KEY: Buffer.alloc(32, 'webhooks').toString('base64'),
  WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
};

/** `respond` responds with this status and these headers. `hang` reads the request and never responds. */
export type ReceiverBehaviour =
  | { readonly kind: 'respond'; readonly status: number; readonly headers?: Record<string, string> }
  | { readonly kind: 'hang' };

export interface LatestEvent {
  /** The change number, which rises with every change in a facility. */
  readonly modified: number;
  readonly isDeleted: boolean;
  readonly booking: Readonly<Record<string, unknown>>;
}

interface Event {
  readonly type: string;
  /** Only a ping has no booking. */
  readonly data: { facilityId: string; modified: number; booking?: { readonly id: string } };
}

/** Accepts each event whose signature is correct. */
export const healthy: ReceiverBehaviour = { kind: 'respond', status: 204 };
const path = '/hook';

export type WebhookReceiver = Awaited<ReturnType<typeof startWebhookReceiver>>;

export async function startWebhookReceiver() {
  const latest = new Map<string, LatestEvent>();
  const created = new Map<string, Set<number>>();
  const hanging = new Set<ServerResponse>();
  const deliveries: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
  const unexpectedPaths: string[] = [];
  let requestCount = 0;
  let behaviour = healthy;
  let secret = '';

  const accept = (headers: IncomingHttpHeaders, body: string): void => {
    new Webhook(secret).verify(body, headers as Record<string, string>);
    deliveries.push({ headers, body });
    const { type, data } = JSON.parse(body) as Event;
    const { facilityId, modified, booking } = data;
    if (!booking) return;
    const key = `${facilityId} ${booking.id}`;
    if (type === 'booking.created') created.set(key, (created.get(key) ?? new Set()).add(modified));
    // Events can arrive late or twice, so only an event that is not older than the stored one is stored.
    if ((latest.get(key)?.modified ?? 0) <= modified)
      latest.set(key, { modified, isDeleted: type === 'booking.deleted', booking });
  };

  const server = createServer(async (request, response) => {
    requestCount += 1;
    if (request.url !== path) unexpectedPaths.push(request.url ?? '');
    let body = '';
    for await (const chunk of request) body += chunk;
    if (behaviour.kind === 'hang') {
      hanging.add(response);
      return;
    }
    // `accept` throws if the signature is wrong. The event is then not stored, which makes the test fail.
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
    /**
     * The latest accepted event of each booking, which is the event with the highest change number. The key is
     * `FACILITY BOOKING`, with the ids of the facility and the booking.
     */
    latest,
    /** The numbers of the changes that were accepted as `booking.created`. The keys are as in `latest`. */
    created,
    /** The accepted requests, in the order of arrival. */
    deliveries,
    /** The number of requests so far, including those that the receiver did not accept. */
    requestCount: () => requestCount,
    /** Requested paths other than the path of the webhook. Only a client that follows redirects would request them. */
    unexpectedPaths,
    /** Sets the secret of the webhook, with which the receiver verifies the signatures. */
    setSecret: (text: string) => {
      secret = text;
    },
    /** Sets the behaviour for all further requests, and closes the connections of the requests that hang. */
    setBehaviour: (next: ReceiverBehaviour) => {
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
