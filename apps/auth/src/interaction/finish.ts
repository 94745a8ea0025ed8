// Which authorization request is this browser in the middle of, and how does a sign-in end that? Its result is written down and the
// browser goes on to wherever the request was.
import type { Request, Response } from 'express';
import type { Provider } from 'oidc-provider';
import type { FinishedSignIn } from './sign-in-context.ts';

export type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

/** Shown as a sign-in that has expired. */
export const interactionOver = (message: string): Error =>
  Object.assign(new Error(message), { name: 'SessionNotFound', status: 400 });

/** That of the address, whose cookie the browser must have. @throws {SessionNotFound} */
export async function findInteraction(provider: Provider, request: Request, response: Response): Promise<Interaction> {
  const interaction = await provider.interactionDetails(request, response);
  if (interaction.uid !== request.params.uid) throw interactionOver('another interaction’s cookie');
  return interaction;
}

/** Without the interaction's cookie, which is for its own path: who calls this has made sure that it is this browser's. */
export async function finishInteraction(
  response: Response,
  interaction: Interaction,
  done: FinishedSignIn,
): Promise<void> {
  interaction.result = {
    ...interaction.lastSubmission,
    login: {
      accountId: done.account.id,
      ts: done.signedInAt,
      amr: [...done.amr],
      ...(done.acr && { acr: done.acr }),
    },
  };
  await interaction.save(interaction.exp - Math.floor(Date.now() / 1000));
  response.redirect(303, interaction.returnTo);
}
