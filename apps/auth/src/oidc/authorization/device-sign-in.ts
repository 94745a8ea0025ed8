// Finds the device authorization request of a user code, and starts the sign-in of the user who entered the code
// (RFC 8628 section 3.3).
//
// Our own page asks for the user code (interaction/device-pages.ts). oidc-provider's page is not used, because its form
// needs an inline script. In addition, oidc-provider's page accepts a code only once, even if the user did not finish
// the sign-in. On our page, the user can enter the code again.
//
// Our page redirects the browser to the library's path `/device/:uid`. At this path, the library runs the sign-in and
// the consent as for an authorization request, and stores the result with the device code. The path needs an
// interaction, which this file creates.
import { randomBytes } from 'node:crypto';
import type { Request, Response } from 'express';
import type { Provider } from 'oidc-provider';
import type { AuthConfig } from '../../config.ts';
import { routes } from '../paths.ts';
import type { DeviceCodes } from '../storage/device-codes.ts';

export interface DeviceRequest {
  readonly clientId: string;
  readonly clientName: string;
  /** Redirects the browser to the sign-in. */
  readonly begin: (request: Request, response: Response) => Promise<void>;
  /** Returns false if the user has already allowed or denied the code, or if it has expired. */
  readonly deny: () => Promise<boolean>;
}

/** Converts a typed user code to the stored form: only letters and digits, in upper case. */
const normaliseUserCode = (typed: string): string => typed.replaceAll(/[^A-Za-z0-9]/g, '').toUpperCase();

/**
 * Returns a typed user code as the device shows it, such as `BCDF-GHJK`. If the code does not have 8 letters and
 * digits, returns the text as it was typed.
 */
export function formatUserCode(typed: string): string {
  const code = normaliseUserCode(typed);
  return code.length === 8 ? `${code.slice(0, 4)}-${code.slice(4)}` : typed;
}

type NewInteraction = new (uid: string, payload: object) => InstanceType<Provider['Interaction']>;

export interface DeviceSignInOptions {
  /** Returns the current provider. It is replaced when the signing keys change (provider-manager.ts). */
  readonly provider: () => Provider;
  readonly config: Pick<AuthConfig, 'issuer'>;
  readonly deviceCodes: Pick<DeviceCodes, 'findPending' | 'deny'>;
  /** The time that a user has for sign-in and consent. */
  readonly lifetimeSeconds: number;
}

export type FindDeviceRequest = (userCode: string) => Promise<DeviceRequest | undefined>;

/**
 * Returns a function that finds the device authorization request to which a user code belongs. The function returns
 * undefined if the code is unknown or expired, if a user has already allowed or denied the request, or if the client
 * that sent the request was removed.
 */
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
    // The device code itself is not stored. oidc-provider finds the request by the reference (storage/device-codes.ts).
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
