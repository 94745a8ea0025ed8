// Starts a receiver of webhooks, which records all requests and responds with 204, or as the test has configured. Also
// verifies signatures.
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

export interface ReceivedEvent {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly event: {
    readonly type: string;
    readonly timestamp: string;
    readonly data: {
      readonly facilityId?: string;
      readonly modified?: number;
      readonly actor?: object;
      readonly booking?: Readonly<Record<string, unknown>>;
    };
  };
}

export type WebhookReceiver = Awaited<ReturnType<typeof startWebhookReceiver>>;

export async function startWebhookReceiver() {
  const events: ReceivedEvent[] = [];
  const pendingChecks = new Set<() => void>();
  let respond: RequestListener = (_request, response) => void response.writeHead(204).end();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      events.push({ headers: request.headers, body, event: JSON.parse(body) });
      respond(request, response);
      for (const check of pendingChecks) check();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    events,

    respondWith: (listener: RequestListener): void => {
      respond = listener;
    },

    /** Waits until the receiver has received `count` events, and returns the first `count` events. */
    received: async (count: number): Promise<readonly ReceivedEvent[]> => {
      if (events.length < count)
        await new Promise<void>((resolve) => {
          const check = (): void => {
            if (events.length < count) return;
            pendingChecks.delete(check);
            resolve();
          };
          pendingChecks.add(check);
        });
      return events.slice(0, count);
    },

    close: (): Promise<void> => {
      server.closeAllConnections();
      return new Promise((resolve) => void server.close(() => resolve()));
    },
  };
}

/** @throws {Error} if the signature was not created with the secret */
export function verifySignature({ headers, body }: ReceivedEvent, secret: string): void {
  new Webhook(secret).verify(body, headers as Record<string, string>);
}
