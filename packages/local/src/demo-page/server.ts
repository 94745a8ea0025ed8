// Serves the demo page, which also answers at the redirect URIs of the demo's clients.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { isLoopback, isLoopbackHost } from '@bay-booking/service/public-address';
import { clientsAt, type Demo, isSignedOutPath } from './clients.ts';
import { headers } from './html.ts';
import { devicePage, errorPage, flowsPage, type Mails, mailPage, redirectPage, signedOutPage } from './pages.ts';
import { pushRequest } from './requests.ts';

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly location?: string;
}

const ok = (body: string): Answer => ({ status: 200, body });

/** @throws {Error} if the server cannot listen on the port */
export async function startDemoPage(options: { port: number; host: string; demo: Demo; mails: Mails }) {
  const { port, host, demo, mails } = options;
  const server = createServer(async (request, response) => {
    const url = URL.parse(request.url ?? '', 'http://localhost');
    // A website whose host name resolves to this machine must not read the e-mails.
    const isForeign = isLoopbackHost(host) && !isLoopback(`http://${request.headers.host}`);
    let answer: Answer;
    if (isForeign || !url) answer = failure(421, 'Only localhost is served.');
    else if (request.method !== 'GET' && request.method !== 'HEAD') answer = failure(405, 'Only GET is served.');
    else answer = await answerTo(url, demo, mails).catch((error: Error) => failure(502, error.message));
    const { status, body, location } = answer;
    response.writeHead(status, { ...headers, ...(location && { Location: location }) }).end(body);
  });
  await once(server.listen(port, host), 'listening');
  return {
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

const failure = (status: number, text: string): Answer => ({ status, body: errorPage(`Error ${status}`, text) });

async function answerTo({ pathname, searchParams }: URL, demo: Demo, mails: Mails): Promise<Answer> {
  if (pathname === '/') return ok(flowsPage(demo));
  if (pathname === '/mail') return ok(mailPage(demo, mails.list()));
  if (clientsAt(demo, pathname).length > 0) return ok(redirectPage(demo, pathname, searchParams));
  if (isSignedOutPath(demo, pathname)) return ok(signedOutPage());
  const client = demo.clients.find(({ client_id: id }) => id === searchParams.get('client_id'));
  if (client && pathname === '/device') return ok(await devicePage(demo, client));
  if (client?.profile && pathname === '/pushed')
    return { status: 303, body: '', location: await pushRequest(demo, client) };
  return failure(404, 'There is no such page.');
}
