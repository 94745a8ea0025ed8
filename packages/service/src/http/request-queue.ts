// Serves the requests of a connection one after another, and limits how many of them wait.
//
// Node calls the handler for all pipelined requests at the same time, and stores their responses in memory until the
// client reads them: 9 to 25 MB for a client that never reads. The queue serves a request only after the previous
// response was passed to the operating system.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A connection with more waiting requests is closed. */
const maxWaiting = 100;

export interface RequestQueue {
  readonly add: (socket: Socket) => void;
  readonly receive: (request: IncomingMessage, response: ServerResponse) => void;
  readonly sockets: () => Iterable<Socket>;
  /** The unfinished responses. The first one belongs to the request that is being served. */
  readonly responsesOf: (socket: Socket) => readonly ServerResponse[];
}

export function createRequestQueue(serve: RequestListener): RequestQueue {
  /** With a Set in place of the array, V8 would keep earlier hash tables with finished requests in memory. */
  const connections = new Map<Socket, ServerResponse<IncomingMessage>[]>();

  const finish = (socket: Socket, responses: ServerResponse<IncomingMessage>[], response: ServerResponse): void => {
    const isFirst = responses[0] === response;
    responses.splice(responses.indexOf(response), 1);
    // The response of a waiting request was closed, so no further request is started.
    if (!isFirst || socket.destroyed) return;
    if (responses.length <= 1) socket.resume();
    const [next] = responses;
    if (next) serve(next.req, next);
  };

  return {
    add: (socket) => {
      connections.set(socket, []);
      socket.once('close', () => connections.delete(socket));
    },
    receive: (request, response) => {
      const { socket } = request;
      const responses = connections.get(socket);
      // After a connection was closed, Node's parser still emits the requests that it has already read.
      if (responses === undefined || socket.destroyed) return;
      if (responses.length - 1 >= maxWaiting) return void socket.destroy();
      responses.push(response as ServerResponse<IncomingMessage>);
      response.on('close', () => finish(socket, responses, response));
      if (responses.length === 1) serve(request, response as ServerResponse<IncomingMessage>);
      // Otherwise, a client that does not read its responses could keep its connection open by sending more requests.
      else socket.pause();
    },
    sockets: () => connections.keys(),
    responsesOf: (socket) => connections.get(socket) ?? [],
  };
}
