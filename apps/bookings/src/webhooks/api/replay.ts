// Handles POST /api/webhooks/{id}/replay: sends again all changes of a facility that come after the change number in
// the request (`afterChangeNumber`).
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { Caller } from '../../auth/caller.ts';
import type { FeedStore } from '../../changes/feed/store.ts';
import { apiError, badRequest, problemsOf } from '../../errors.ts';
import type { CursorStore } from '../delivery/cursor-store.ts';
import type { Webhook } from '../webhook.ts';

export interface ReplayServices {
  readonly findWebhook: (id: string, caller: Caller) => Promise<Webhook>;
  readonly cursors: Pick<CursorStore, 'startReplay'>;
  readonly feed: Pick<FeedStore, 'head'>;
}

/** The fields are optional only in this type. The router rejects a request in which a field is missing. */
export interface ReplayRequest {
  readonly facilityId?: string;
  readonly afterChangeNumber?: number;
}

export function createReplay({ findWebhook, cursors, feed }: ReplayServices) {
  return async (
    id: string,
    { facilityId = '', afterChangeNumber = 0 }: ReplayRequest,
    caller: Caller,
  ): Promise<EndpointResponse> => {
    const webhook = await findWebhook(id, caller);
    if (!webhook.facilityIds.includes(facilityId))
      throw badRequest(
        problemsOf([{ field: 'facilityId', kind: 'invalid', hint: 'must be a facility of the webhook' }]),
      );
    // `changeNumber` is the number of the latest change.
    const { changeNumber, removedNumber } = await feed.head(facilityId);
    // Deletions up to `removedNumber` were removed from the feed, so the replay would lack some deletions.
    if (afterChangeNumber < removedNumber) throw apiError('ERR00410');
    if (afterChangeNumber < changeNumber) await cursors.startReplay(id, facilityId, afterChangeNumber, changeNumber);
    return { status: 202 };
  };
}
