// Receives webhooks: `/hook` responds at once, and `/hang` never responds.
// `/stats` returns the number of events that arrived at `/hook` since the last request to `/stats`, and how many of
// them arrived more than two seconds after the change.
import { createServer } from 'node:http';
import { endWithParent, programOptions } from './program.ts';

const { port } = programOptions<{ readonly port: number }>();
const maxDelayMs = 2_000;
let stats = { received: 0, late: 0 };

createServer(async (request, response) => {
  if (request.url === '/ready') return void response.end();
  if (request.url === '/stats') {
    response.end(JSON.stringify(stats));
    stats = { received: 0, late: 0 };
    return;
  }
  if (request.url === '/hang') return;
  let body = '';
  for await (const chunk of request) body += chunk;
  const { timestamp } = JSON.parse(body) as { timestamp: string };
  stats.received += 1;
  if (Date.now() - Date.parse(timestamp) > maxDelayMs) stats.late += 1;
  response.writeHead(204).end();
}).listen(port);
endWithParent();
