// How does a sign-in end an interaction? Its result is written down and the browser goes on to wherever the authorization request was.
import type { Response } from 'express';
import type { Provider } from 'oidc-provider';
import type { FinishedSignIn } from './place.ts';

export type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

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
