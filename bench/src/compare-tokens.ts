// How fast is the token endpoint beside oidc-provider alone, another library and a bare signer? And what do sign-ins, whose passwords
// cost a fiftieth of a second each, do to everybody else?
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@bay-booking/postgres/ports';
import { machine, native, person, refreshTokensOf, startAuth, web } from './auth-service.ts';
import { baseUrl, scope } from './bookings-service.ts';
import { type Child, startChild } from './child.ts';
import { connections, measure, type Operation, type Sample, serviceCore, type Target } from './measure.ts';
import type { Load } from './wrk.ts';

export interface TokenOptions {
  readonly databaseUrl: string;
  readonly postmaster: number | undefined;
  readonly folder: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly only: readonly string[];
  /** Where to put a CPU profile of the service. */
  readonly profile: string | undefined;
  readonly log: (line: string) => void;
}

const peers = ['oidc-provider', 'oauth2-server', 'signer'];
const perRound = 4 * connections;

export async function compareTokens({
  databaseUrl,
  folder,
  only,
  profile,
  ...options
}: TokenOptions): Promise<Sample[]> {
  const children: Child[] = [];
  const targets: Target[] = [];
  const add = async (name: string, starting: Promise<Child>): Promise<void> => {
    const child = await starting;
    children.push(child);
    targets.push({ name, ...child });
  };
  const wants = (name: string) => only.length === 0 || only.includes(name);
  try {
    const nodeFlags = profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : [];
    await add('service', startAuth({ databaseUrl, folder, core: serviceCore, nodeFlags }));
    const service = targets[0] as Target;
    const samples: Sample[] = [];
    if (wants('client-credentials') || wants('refresh')) {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const key = privateKey.export({ format: 'jwk' });
      for (const name of peers) await add(name, startTokenPeer(name, key));
      const operations = [clientCredentials(), refresh(folder)].filter(({ name }) => wants(name));
      for (const operation of operations) {
        const able = targets.filter(({ name }) => operation.name !== 'refresh' || name !== 'signer');
        samples.push(...(await measure({ ...options, operation, targets: able })));
      }
    }
    if (wants('password')) {
      samples.push(...(await measure({ ...options, operation: password(), targets: [service] })));
      samples.push(...(await whileSigningIn(options, service, folder)));
    }
    return samples;
  } finally {
    await Promise.all(children.map((child) => child.stop()));
  }
}

async function startTokenPeer(name: string, key: object): Promise<Child> {
  const port = await freePort();
  const known = { clientId: machine.id, clientSecret: machine.secret, scope, audience: baseUrl, key };
  return startChild({
    name,
    script: fileURLToPath(new URL(`targets/${name}.ts`, import.meta.url)),
    args: [JSON.stringify({ ...known, port, refreshTokens: perRound })],
    core: serviceCore,
    port,
    readyPath: '/ready',
  });
}

const pathOf = ({ name }: Target): string =>
  name === 'service' || name === 'idle' || name === 'during sign-ins' ? '/connect/token' : '/token';
const form = (fields: Record<string, string>): string => new URLSearchParams(fields).toString();

function clientCredentials(): Operation {
  const body = form({ grant_type: 'client_credentials', client_id: machine.id, client_secret: machine.secret, scope });
  return { name: 'client-credentials', load: (target) => ({ script: 'form.lua', args: [pathOf(target), body, '-'] }) };
}

/** Every round begins with fresh tokens, since those in flight when a round ends are lost. */
function refresh(folder: string): Operation {
  return {
    name: 'refresh',
    load: async (target): Promise<Load> => {
      const own = target.name === 'service';
      const tokens = own
        ? await refreshTokensOf(target.url, perRound)
        : ((await (await fetch(`${target.url}/refresh-tokens`)).json()) as string[]);
      const file = join(folder, `refresh-${target.name}`);
      writeFileSync(file, `${tokens.join('\n')}\n`);
      const client = own ? web : machine;
      return {
        script: 'refresh.lua',
        args: [pathOf(target), file, '-', `&client_id=${client.id}&client_secret=${client.secret}`],
      };
    },
  };
}

const signIn = form({ grant_type: 'password', client_id: native.id, ...person, scope });

function password(): Operation {
  return { name: 'password', load: () => ({ script: 'form.lua', args: ['/connect/token', signIn, '-'] }) };
}

/** GETs of the discovery document, alone and while twenty people a second sign in. */
async function whileSigningIn(
  options: Omit<TokenOptions, 'databaseUrl' | 'folder' | 'only' | 'profile'>,
  service: Target,
  folder: string,
): Promise<Sample[]> {
  const file = join(folder, 'discovery');
  writeFileSync(file, '/.well-known/openid-configuration\n');
  let signingIn: NodeJS.Timeout | undefined;
  const operation: Operation = {
    name: 'discovery',
    load: ({ name }) => {
      clearInterval(signingIn);
      if (name === 'during sign-ins') {
        signingIn = setInterval(() => {
          const body = new URLSearchParams(signIn);
          fetch(`${service.url}/connect/token`, { method: 'POST', body, signal: AbortSignal.timeout(10_000) }).catch(
            () => {},
          );
        }, 50);
      }
      return { script: 'get.lua', args: ['-', file] };
    },
  };
  const targets = ['idle', 'during sign-ins'].map((name) => ({ ...service, name }));
  try {
    return await measure({ ...options, operation, targets });
  } finally {
    clearInterval(signingIn);
  }
}
