// Starts a receiver of webhooks, which records all requests and responds with 204, or as the test has configured. Also
// verifies signatures.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { serveHttp } from './http-server.ts';
import { eventually } from './wait.ts';

export interface ReceivedEvent {
  /** The path of the request. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly event: {
    readonly type: string;
    readonly timestamp: string;
    /** The event `webhook.ping` has no data. */
    readonly data: {
      readonly facilityId?: string;
      readonly modified?: number;
      readonly actor?: object;
      readonly booking?: Readonly<Record<string, unknown>>;
    };
  };
}

type Respond = (request: IncomingMessage, response: ServerResponse, received: ReceivedEvent) => void;

export type WebhookReceiver = Awaited<ReturnType<typeof startWebhookReceiver>>;

export async function startWebhookReceiver() {
  const events: ReceivedEvent[] = [];
  let respond: Respond = (_request, response) => void response.writeHead(204).end();
  const { url, close } = await serveHttp(async (request, response) => {
    const body = await text(request);
    const received = { path: request.url ?? '', headers: request.headers, body, event: JSON.parse(body) };
    events.push(received);
    respond(request, response, received);
  });
  return {
    url: `${url}/hook`,
    events,
    respondWith: (listener: Respond): void => {
      respond = listener;
    },
    /** Waits until the receiver has received `count` events, and returns the first `count` events. */
    received: async (count: number): Promise<readonly ReceivedEvent[]> => {
      await eventually(async () => events.length >= count);
      return events.slice(0, count);
    },
    close,
  };
}

/** @throws {Error} if the signature was not created with the secret */
export function verifySignature({ headers, body }: Pick<ReceivedEvent, 'headers' | 'body'>, secret: string): void {
  new Webhook(secret).verify(body, headers as Record<string, string>);
}
