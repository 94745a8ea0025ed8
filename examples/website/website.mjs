// Runs a website with a back end that signs users in. docs/sign-in.md explains the program.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import * as openid from 'openid-client';

const site = 'http://localhost:4010';
const scope = 'openid profile email offline_access';
const config = await openid.discovery(new URL('http://localhost:4000'), 'demo-web', 'demo-web-secret', undefined, {
  execute: [openid.allowInsecureRequests], // Only for http on this machine.
});
const sessions = new Map();

async function beginSignIn(session) {
  session.verifier = openid.randomPKCECodeVerifier();
  session.state = openid.randomState();
  return openid.buildAuthorizationUrl(config, {
    redirect_uri: `${site}/callback`,
    scope,
    state: session.state,
    code_challenge: await openid.calculatePKCECodeChallenge(session.verifier),
    code_challenge_method: 'S256',
  });
}

async function endSignIn(session, callback) {
  const checks = { pkceCodeVerifier: session.verifier, expectedState: session.state, idTokenExpected: true };
  session.tokens = await openid.authorizationCodeGrant(config, callback, checks);
}

// Every refresh returns a new refresh token. Store it before the next refresh, and never refresh twice at a time.
async function accessToken(session) {
  if (session.tokens.expiresIn() < 30) {
    session.refresh ??= openid.refreshTokenGrant(config, session.tokens.refresh_token);
    session.tokens = await session.refresh.finally(() => delete session.refresh);
  }
  return session.tokens.access_token;
}

async function respond(url, session) {
  if (url.pathname === '/sign-in') return { location: await beginSignIn(session) };
  if (url.pathname === '/callback') {
    await endSignIn(session, url);
    return { location: `${site}/` };
  }
  if (url.pathname === '/sign-out' && session.tokens) {
    const { id_token } = session.tokens;
    delete session.tokens;
    const parameters = { id_token_hint: id_token, post_logout_redirect_uri: `${site}/signed-out` };
    return { location: openid.buildEndSessionUrl(config, parameters) };
  }
  if (url.pathname !== '/' || !session.tokens) return { text: 'Nobody is signed in.' };
  const user = await openid.fetchUserInfo(config, await accessToken(session), session.tokens.claims().sub);
  return { text: `Hello ${user.name}` };
}

createServer(async (request, response) => {
  const known = /session=([\w-]+)/.exec(request.headers.cookie)?.[1];
  const id = sessions.has(known) ? known : randomUUID();
  if (id !== known) sessions.set(id, {});
  response.setHeader('Set-Cookie', `session=${id}; HttpOnly; SameSite=Lax; Path=/`);
  try {
    const { location, text } = await respond(new URL(request.url, site), sessions.get(id));
    response.writeHead(location ? 303 : 200, location && { Location: String(location) }).end(text);
  } catch (error) {
    response.writeHead(400).end(`Sign-in failed: ${error.error ?? error.message}`);
  }
}).listen(4010);
