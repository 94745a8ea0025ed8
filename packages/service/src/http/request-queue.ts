// Serves a connection's requests one after another and limits how many of them wait.
//
// Node calls the handler for all pipelined requests at once and stores their responses in memory until the client reads
// them: 9 to 25 MB for a client that never reads. The queue serves a request only after the previous response was
// passed to the operating system.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A connection with more waiting requests is closed. */
const maxWaiting = 100;

export type RequestQueue = ReturnType<typeof createRequestQueue>;

export function createRequestQueue(serve: RequestListener) {
  /** An array, because a Set would make V8 keep earlier hash tables with finished requests in memory. */
  const connections = new Map<Socket, ServerResponse<IncomingMessage>[]>();

  const finish = (socket: Socket, responses: ServerResponse<IncomingMessage>[], response: ServerResponse): void => {
    const isFirst = responses[0] === response;
    responses.splice(responses.indexOf(response), 1);
    // A waiting request's response was closed, so no further request starts.
    if (!isFirst || socket.destroyed) return;
    if (responses.length <= 1) socket.resume();
    const [next] = responses;
    if (next) serve(next.req, next);
  };

  return {
    add: (socket: Socket): void => {
      connections.set(socket, []);
      socket.once('close', () => connections.delete(socket));
    },
    receive: (request: IncomingMessage, response: ServerResponse): void => {
      const { socket } = request;
      const responses = connections.get(socket);
      // After a connection has closed, Node's parser still emits requests that it has already read.
      if (responses === undefined || socket.destroyed) return;
      if (responses.length - 1 >= maxWaiting) return void socket.destroy();
      responses.push(response as ServerResponse<IncomingMessage>);
      response.on('close', () => finish(socket, responses, response));
      if (responses.length === 1) serve(request, response as ServerResponse<IncomingMessage>);
      // Otherwise a client that does not read responses could keep its connection open by sending more requests.
      else socket.pause();
    },
    sockets: (): Iterable<Socket> => connections.keys(),
    /** The unfinished responses. The first one belongs to the request that is being served. */
    responsesOf: (socket: Socket): readonly ServerResponse[] => connections.get(socket) ?? [],
  };
}
