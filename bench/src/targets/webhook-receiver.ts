// Receives webhooks. `/stats` returns the number of events that arrived since the last request to `/stats`.
import { createServer } from 'node:http';
import { endWithParent, programOptions } from './program.ts';

const { port } = programOptions<{ readonly port: number }>();
let received = 0;

createServer((request, response) => {
  if (request.url === '/ready') return void response.end();
  if (request.url === '/stats') {
    response.end(JSON.stringify({ received }));
    received = 0;
    return;
  }
  received += 1;
  request.resume();
  response.writeHead(204).end();
}).listen(port);
endWithParent();
