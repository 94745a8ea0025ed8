// Serves the pages where users export and delete their account.
import { type Response, Router } from 'express';
import { deleteAccount } from '../accounts/deletion-store.ts';
import { findSolelyOwned, type OwnedFacility } from '../facilities/membership-store.ts';
import type { SignedInHandler } from '../html/site.ts';
import type { PageServices } from '../services.ts';
import { readPersonalData } from './personal-data-store.ts';

const accountLinks = [{ href: '/account', text: 'Your account' }];

export function accountDataRoutes({ site, sessions, audit, db, outbox, facilityEmails }: PageServices): Router {
  const fresh = { requireFresh: true };

  const sendExport: SignedInHandler = async (request, response, { account }) => {
    await audit.flush();
    const data = await readPersonalData(db, account.id);
    audit.record({ kind: 'account.exported', accountId: account.id, address: request.ip });
    response.set({ 'Cache-Control': 'no-store', 'Content-Disposition': 'attachment; filename="account.json"' });
    response.type('json').send(JSON.stringify(data, null, 2));
  };

  const showOnlyOwner = (response: Response, facilities: readonly OwnedFacility[]): Promise<void> =>
    site.showMessage(response, {
      status: 409,
      title: 'A facility must have an owner',
      text: `You are the last owner of ${facilities.map(({ name }) => name).join(', ')}. Make somebody else an owner before you delete your account.`,
      links: accountLinks,
    });

  const remove: SignedInHandler = async (request, response, { account }) => {
    // Otherwise, events that are not stored yet would be stored after the deletion.
    await audit.flush();
    const outcome = await deleteAccount(db, account.id, (tx, left) => facilityEmails.accountDeleted(tx, account, left));
    if (typeof outcome === 'object') return showOnlyOwner(response, outcome.facilities);
    audit.record({ kind: 'account.deleted', accountId: account.id });
    outbox.wake();
    await sessions.end(request, response);
    return site.showMessage(response, {
      title: 'Your account was deleted',
      text: 'You are signed out everywhere, and no application can act for you any more.',
      tone: 'good',
    });
  };

  const router = Router();
  router.get('/account/export', site.forSignedIn(sendExport, fresh));
  router.get(
    '/account/delete',
    site.forSignedIn(async (_request, response, { account }) => {
      const facilities = await findSolelyOwned(db, account.id);
      if (facilities.length > 0) return showOnlyOwner(response, facilities);
      const page = { title: 'Delete your account?', button: 'Delete the account', cancel: '/account' };
      return site.showConfirmation(response, '/account-pages/delete', { account }, page);
    }, fresh),
  );
  router.post('/account/delete', ...site.formForSignedIn(remove, { ...fresh, returnTo: () => '/account/delete' }));
  return router;
}
