// Asks for a mailed code before somebody with a password only can add the first factor of an account.
import type { Request, Response } from 'express';
import type { FactorSetUp } from '../factors/store.ts';
import { codeField, field, tooMany } from '../html/forms.ts';
import type { SignedIn } from '../html/signed-in.ts';
import type { FormState } from '../html/site.ts';
import type { PageServices } from '../services.ts';

export const mailCodeEnded =
  'The code from the e-mail has expired, or too many wrong codes were entered. Request a new code.';

export type FirstFactorCode = ReturnType<typeof createFirstFactorCode>;

export function createFirstFactorCode({ config, factors, confirmationCodes, audit }: PageServices) {
  /** Returns where the code for the first factor is mailed. Undefined if no code is needed or can be mailed. */
  const codeAddressOf = async ({ account }: SignedIn): Promise<string | undefined> =>
    config.mail === 'off' || (await factors.hasSecondFactor(account.id))
      ? undefined
      : confirmationCodes.addressOf(account);

  /** Returns the form field for the mailed code if the code is needed. */
  const mailCodeField = async (request: Request, signedIn: SignedIn) => {
    const address = await codeAddressOf(signedIn);
    return (
      address && {
        name: 'mailCode',
        label: 'Code from the e-mail',
        hint: `We sent six digits to ${address}. They work for 10 minutes.`,
        value: field(request, 'mailCode') || undefined,
        autocomplete: 'off',
        inputmode: 'numeric',
        verbatim: true,
      }
    );
  };

  /** Mails the code for the first factor if it is needed. Returns the state of the form. */
  const sendCode = async (response: Response, signedIn: SignedIn, { isRequested = false } = {}): Promise<FormState> => {
    if ((await codeAddressOf(signedIn)) === undefined) return {};
    if (!isRequested && (await confirmationCodes.isSent(signedIn.sessionId))) return {};
    const waitSeconds = await confirmationCodes.send(signedIn);
    return waitSeconds === 0 ? {} : tooMany(response, waitSeconds, 'Too many codes were sent.');
  };

  /** Returns an error, or undefined if the mailed code is right or not needed. */
  const checkMailCode = async (request: Request, signedIn: SignedIn): Promise<string | undefined> => {
    if ((await codeAddressOf(signedIn)) === undefined) return undefined;
    const code = codeField(request, 'mailCode');
    if (!/^\d{6}$/.test(code)) return 'Enter the six digits from the e-mail.';
    const outcome = await confirmationCodes.check(signedIn, code);
    if (outcome === 'right') return undefined;
    const event = { accountId: signedIn.account.id, address: request.ip };
    audit.record({ kind: 'factor.refused', ...event, detail: { reason: 'wrong mailed code' } });
    return outcome === 'wrong' ? 'The code from the e-mail is wrong.' : mailCodeEnded;
  };

  /** The mailed code is used up by the transaction that stores the factor, so a failure leaves it as it was. */
  const proofOf = async (request: Request, signedIn: SignedIn): Promise<FactorSetUp['prove']> => {
    const isNeeded = (await codeAddressOf(signedIn)) !== undefined;
    return async (tx) => !isNeeded || confirmationCodes.consume(signedIn, codeField(request, 'mailCode'), tx);
  };

  return { mailCodeField, sendCode, checkMailCode, proofOf };
}
