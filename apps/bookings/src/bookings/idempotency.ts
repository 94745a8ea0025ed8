// Which answer did a request with this Idempotency-Key get before? Kept for 24 h per client, in the transaction of its booking
// (contract section 7). The answer is the one of then, even if the booking has changed since.
import { createHash } from 'node:crypto';
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { ValidationError } from '@bay-booking/common/validation';
import { type Database, query } from '@bay-booking/service/database/database';
import type { Caller } from '../auth/caller.ts';
import { apiError, badRequest, problemOf } from '../errors.ts';
import { reads, writes } from './storage/statements.ts';
import type { KeptAnswer } from './storage/store.ts';

const keptFor = 24 * 3_600_000;
const form = /^[\x21-\x7e]{1,255}$/;
const batch = 1_000;

/** What tells one request from another: all that a create looks at, as it came. */
export interface KeyedRequest {
  readonly id: string;
  readonly requestHash: string;
}

interface AnswerRow {
  readonly request_hash: string;
  readonly facility_id: string;
  readonly answer: string;
}

export type AnswerStore = ReturnType<typeof createAnswerStore>;

export function createAnswerStore(db: Database) {
  return {
    /** The answer of then; @throws 422 if the key came with another body. */
    recall: async (
      request: KeyedRequest,
      caller: Caller,
      context: object,
      at: Date,
    ): Promise<EndpointResponse | undefined> => {
      const forgetBefore = new Date(at.getTime() - keptFor).toISOString();
      const [row] = await query<AnswerRow>(db, reads.answerOf, [request.id, forgetBefore]);
      if (!row) return undefined;
      if (row.request_hash !== request.requestHash) throw apiError('ERR00422', { context: { ...context } });
      // A token that has lost the facility since must not learn of it here.
      if (!caller.facilities.includes(row.facility_id)) throw badRequest([problemOf('ERR00012', { ...context })]);
      return JSON.parse(row.answer) as EndpointResponse;
    },

    /** Forgets what is too old, a bounded number of rows at a time; resolves to how many. */
    forgetOld: async (at: Date): Promise<number> => {
      const before = new Date(at.getTime() - keptFor).toISOString();
      let forgotten = 0;
      for (;;) {
        const old = await query<{ id: string }>(db, reads.oldAnswers, [before, batch]);
        if (old.length > 0) await query(db, writes.forgetAnswers, [old.map(({ id }) => id), before]);
        forgotten += old.length;
        if (old.length < batch) return forgotten;
      }
    },
  };
}

export function findKeyErrors(key: string | undefined): readonly ValidationError[] {
  if (key === undefined || form.test(key)) return [];
  return [{ field: 'Idempotency-Key', kind: 'invalid', hint: '1 to 255 visible ASCII characters' }];
}

/** `body` is undefined where it is at fault: no such request was ever answered, so that it repeats none. */
export function keyedRequest(key: string, caller: Caller, body: object | undefined): KeyedRequest {
  return { id: hash([caller.clientId, key]), requestHash: body ? hash(Object.entries(body).sort()) : 'at fault' };
}

export function keptAnswer({ id, requestHash }: KeyedRequest, answer: EndpointResponse, at: Date): KeptAnswer {
  return { id, requestHash, answer: JSON.stringify(answer), forgetBefore: new Date(at.getTime() - keptFor) };
}

function hash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url');
}
