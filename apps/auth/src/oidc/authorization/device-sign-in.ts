// Finds the device request of a user code and starts the user's sign-in (RFC 8628 section 3.3). The page of
// oidc-provider needs an inline script and accepts a code only once, even if the sign-in was not finished. Our page
// creates the interaction that the library's path `/device/:uid` needs, and redirects to it.
import { randomBytes } from 'node:crypto';
import type { Request, Response } from 'express';
import type { Provider } from 'oidc-provider';
import { readCode } from '../../input/typed-code.ts';
import { routes } from '../paths.ts';
import type { DeviceCodes } from '../storage/device-codes.ts';

const normaliseUserCode = (typed: string): string =>
  readCode(typed)
    .replaceAll(/[^A-Za-z0-9]/g, '')
    .toUpperCase();

/** The page shows a wrong code again, up to this length. */
const maxShownLength = 20;

/** Returns the empty string if nothing was typed that a code can contain. */
export function formatUserCode(typed: string): string {
  const code = normaliseUserCode(typed);
  if (code.length === 8) return `${code.slice(0, 4)}-${code.slice(4)}`;
  return code === '' ? '' : typed.slice(0, maxShownLength);
}

type NewInteraction = new (uid: string, payload: object) => InstanceType<Provider['Interaction']>;

export type DeviceRequest = NonNullable<Awaited<ReturnType<ReturnType<typeof createDeviceSignIn>>>>;

export type FindDeviceRequest = ReturnType<typeof createDeviceSignIn>;

/**
 * Returns a function that finds the device request of a user code. The function resolves to undefined if the code is
 * unknown or expired, if the user has already decided, or if the client was removed.
 */
export function createDeviceSignIn(
  provider: () => Provider,
  issuer: string,
  deviceCodes: DeviceCodes,
  lifetime: number,
) {
  const begin = async (request: Request, response: Response, params: object, reference: string): Promise<void> => {
    const currentProvider = provider();
    const uid = randomBytes(32).toString('base64url');
    const path = `${routes.code_verification}/${uid}`;
    // The types of oidc-provider do not list the parameters of this constructor.
    const Interaction = currentProvider.Interaction as unknown as NewInteraction;
    // oidc-provider finds the request by the reference (storage/device-codes.ts).
    const payload = { returnTo: `${issuer}${path}`, params, deviceCode: reference };
    const interaction = new Interaction(uid, payload);
    await interaction.save(lifetime);
    // oidc-provider accepts the interaction only from the browser that has this cookie.
    const cookie = { path, httpOnly: true, sameSite: 'lax', signed: true, maxAge: lifetime * 1000 } as const;
    const { cookies } = currentProvider.createContext(request, response);
    cookies.set(currentProvider.cookieName('resume'), uid, cookie);
    response.redirect(303, path);
  };

  return async (userCode: string) => {
    const code = await deviceCodes.findPending(normaliseUserCode(userCode));
    const client = code && (await provider().Client.find(code.clientId));
    if (!code || !client) return undefined;
    return {
      clientId: client.clientId,
      clientName: client.clientName ?? client.clientId,
      begin: (request: Request, response: Response) => begin(request, response, code.params, code.reference),
      /** Resolves to false if the user has already decided or the code has expired. */
      deny: () => deviceCodes.deny(code.reference),
    };
  };
}
