// Finds the device request of a user code, and starts the sign-in of its user (RFC 8628 section 3.3). The page of
// oidc-provider needs an inline script, and accepts a code only once, even if the sign-in was not finished. Our page
// creates the interaction that the library's path `/device/:uid` needs, and redirects to it.
import { randomBytes } from 'node:crypto';
import type { Request, Response } from 'express';
import type { Provider } from 'oidc-provider';
import type { AuthConfig } from '../../config.ts';
import { routes } from '../paths.ts';
import type { DeviceCodes } from '../storage/device-codes.ts';

export interface DeviceRequest {
  readonly clientId: string;
  readonly clientName: string;
  readonly begin: (request: Request, response: Response) => Promise<void>;
  /** Returns false if the user has already decided, or the code has expired. */
  readonly deny: () => Promise<boolean>;
}

const normaliseUserCode = (typed: string): string => typed.replaceAll(/[^A-Za-z0-9]/g, '').toUpperCase();

export function formatUserCode(typed: string): string {
  const code = normaliseUserCode(typed);
  return code.length === 8 ? `${code.slice(0, 4)}-${code.slice(4)}` : typed;
}

type NewInteraction = new (uid: string, payload: object) => InstanceType<Provider['Interaction']>;

export interface DeviceSignInOptions {
  readonly provider: () => Provider;
  readonly config: Pick<AuthConfig, 'issuer'>;
  readonly deviceCodes: Pick<DeviceCodes, 'findPending' | 'deny'>;
  readonly lifetimeSeconds: number;
}

export type FindDeviceRequest = (userCode: string) => Promise<DeviceRequest | undefined>;

/** Resolves to undefined if the code is unknown, expired or decided, or its client was removed. */
export function createDeviceSignIn({
  provider,
  config,
  deviceCodes,
  lifetimeSeconds,
}: DeviceSignInOptions): FindDeviceRequest {
  const begin = async (request: Request, response: Response, params: object, reference: string): Promise<void> => {
    const currentProvider = provider();
    const uid = randomBytes(32).toString('base64url');
    const path = `${routes.code_verification}/${uid}`;
    // The types of oidc-provider do not list the parameters of this constructor.
    const Interaction = currentProvider.Interaction as unknown as NewInteraction;
    // oidc-provider finds the request by the reference (storage/device-codes.ts).
    const payload = { returnTo: `${config.issuer}${path}`, params, deviceCode: reference };
    const interaction = new Interaction(uid, payload);
    await interaction.save(lifetimeSeconds);
    // oidc-provider accepts the interaction only from the browser that has this cookie.
    const cookie = { path, httpOnly: true, sameSite: 'lax', signed: true, maxAge: lifetimeSeconds * 1000 } as const;
    const { cookies } = currentProvider.createContext(request, response);
    cookies.set(currentProvider.cookieName('resume'), uid, cookie);
    response.redirect(303, path);
  };

  return async (userCode) => {
    const code = await deviceCodes.findPending(normaliseUserCode(userCode));
    const client = code && (await provider().Client.find(code.clientId));
    if (!code || !client) return undefined;
    return {
      clientId: client.clientId,
      clientName: client.clientName ?? client.clientId,
      begin: (request, response) => begin(request, response, code.params, code.reference),
      deny: () => deviceCodes.deny(code.reference),
    };
  };
}
