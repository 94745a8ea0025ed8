// Compares the token endpoint of auth with plain oidc-provider, with another OAuth library, and with a server that only
// signs tokens. Also measures how much password sign-ins, which take a lot of CPU time, slow down other requests.
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@bay-booking/postgres/ports';
import { native, obtainRefreshTokens, serviceClient, startAuth, user, web } from './auth-service.ts';
import { baseUrl, scope } from './bookings-service.ts';
import { type Child, profileFlags, startChild } from './child.ts';
import {
  defaultConnections,
  measure,
  type Operation,
  type RunOptions,
  type Sample,
  type ServiceRunOptions,
  serviceCore,
  type Target,
} from './measure.ts';
import type { TokenPeerOptions } from './targets/token-peer.ts';
import type { Load } from './wrk.ts';

export interface TokenOptions extends ServiceRunOptions {
  /** The database of the target oidc-provider-postgres. */
  readonly peerDatabaseUrl: string;
  /** The names of the peers. An empty list stands for all of them. */
  readonly targetNames: readonly string[];
}

/** The servers with which auth is compared. Each has a script in targets/. */
const peers = ['oidc-provider-postgres', 'oidc-provider', 'oauth2-server', 'signer'];
/**
 * The number of refresh tokens at the beginning of a round. Concurrent requests use different tokens. There are more
 * tokens than connections, because a failed request returns no new token.
 */
const tokensPerRound = 4 * defaultConnections;

export async function compareTokens(options: TokenOptions): Promise<Sample[]> {
  const { databaseUrl, peerDatabaseUrl, folder, only, targetNames, profile } = options;
  const targets: (Target & Child)[] = [];
  const addTarget = async (name: string, starting: Promise<Child>): Promise<Target> => {
    const target = { name, ...(await starting) };
    targets.push(target);
    return target;
  };
  const isSelected = (operation: string) => only.length === 0 || only.includes(operation);
  try {
    const nodeFlags = profileFlags(profile);
    const service = await addTarget('service', startAuth({ databaseUrl, folder, core: serviceCore, nodeFlags }));
    const samples: Sample[] = [];
    if (isSelected('client-credentials') || isSelected('refresh')) {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const key = privateKey.export({ format: 'jwk' }) as Record<string, string>;
      const selectedPeers = peers.filter((name) => targetNames.length === 0 || targetNames.includes(name));
      for (const name of selectedPeers) await addTarget(name, startTokenPeer(name, key, peerDatabaseUrl));
      const operations = [clientCredentials(), refresh(folder)].filter(({ name }) => isSelected(name));
      for (const operation of operations) {
        // The target `signer` has no refresh tokens.
        const measured = targets.filter(({ name }) => operation.name !== 'refresh' || name !== 'signer');
        samples.push(...(await measure({ ...options, operation, targets: measured })));
      }
    }
    if (isSelected('password')) {
      samples.push(...(await measure({ ...options, operation: password(), targets: [service] })));
      samples.push(...(await measureDuringSignIns(options, service)));
    }
    return samples;
  } finally {
    await Promise.all(targets.map((target) => target.stop()));
  }
}

async function startTokenPeer(name: string, key: Record<string, string>, databaseUrl: string): Promise<Child> {
  const port = await freePort();
  const options: TokenPeerOptions = {
    port,
    clientId: serviceClient.id,
    clientSecret: serviceClient.secret,
    scope,
    audience: baseUrl,
    key,
    refreshTokenCount: tokensPerRound,
    databaseUrl,
  };
  return startChild({
    name,
    script: fileURLToPath(new URL(`targets/${name}.ts`, import.meta.url)),
    args: [JSON.stringify(options)],
    core: serviceCore,
    port,
    readyPath: '/ready',
  });
}

/** In the arguments of the Lua scripts, this value means that there is no header Authorization. */
const noHeader = '-';

const pathOf = ({ name }: Target): string => (peers.includes(name) ? '/token' : '/connect/token');
const form = (fields: Record<string, string>): string => new URLSearchParams(fields).toString();

export function clientCredentials(): Operation {
  const body = form({
    grant_type: 'client_credentials',
    client_id: serviceClient.id,
    client_secret: serviceClient.secret,
    scope,
  });
  const load = (target: Target): Load => ({ script: 'form.lua', args: [pathOf(target), body, noHeader] });
  return { name: 'client-credentials', load };
}

/**
 * Every round begins with new refresh tokens. Those of the previous round cannot be used: at the end of a round, wrk
 * drops the responses that have not arrived yet, and with them the next refresh tokens.
 */
export function refresh(folder: string): Operation {
  return {
    name: 'refresh',
    load: async (target): Promise<Load> => {
      const isService = !peers.includes(target.name);
      const tokens = isService
        ? await obtainRefreshTokens(target.url, tokensPerRound)
        : ((await (await fetch(`${target.url}/refresh-tokens`)).json()) as string[]);
      const file = join(folder, `refresh-${target.name}`);
      writeFileSync(file, `${tokens.join('\n')}\n`);
      const client = isService ? web : serviceClient;
      return {
        script: 'refresh.lua',
        // The script appends the last argument to the body of each request.
        args: [pathOf(target), file, noHeader, `&client_id=${client.id}&client_secret=${client.secret}`],
      };
    },
  };
}

const signInForm = form({ grant_type: 'password', client_id: native.id, ...user, scope });

function password(): Operation {
  return { name: 'password', load: () => ({ script: 'form.lua', args: ['/connect/token', signInForm, noHeader] }) };
}

const signIn = ({ url }: Target): Promise<Response> =>
  fetch(`${url}/connect/token`, {
    method: 'POST',
    body: new URLSearchParams(signInForm),
    signal: AbortSignal.timeout(10_000),
  });

/** The time between two sign-ins: 20 sign-ins per second. */
const signInIntervalMs = 50;

/** Measures GET requests for the discovery document, alone and during password sign-ins. */
async function measureDuringSignIns(options: RunOptions, service: Target): Promise<Sample[]> {
  const file = join(options.folder, 'discovery');
  writeFileSync(file, '/.well-known/openid-configuration\n');
  let signIns: NodeJS.Timeout | undefined;
  const operation: Operation = {
    name: 'discovery',
    // `measure` calls this function before each round of a target, so it also starts and stops the sign-ins.
    load: ({ name }) => {
      clearInterval(signIns);
      // The failure of a sign-in, for example at the end of the benchmark, must not end the process.
      const startSignIn = () => void signIn(service).catch(() => {});
      if (name === 'during sign-ins') signIns = setInterval(startSignIn, signInIntervalMs);
      return { script: 'get.lua', args: [noHeader, file] };
    },
  };
  const targets = ['idle', 'during sign-ins'].map((name) => ({ ...service, name }));
  try {
    return await measure({ ...options, operation, targets });
  } finally {
    clearInterval(signIns);
  }
}
