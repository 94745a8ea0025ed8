// Makes a change of an operator in one transaction with its audit events.
import { type Transaction, transaction } from '@bay-booking/service/database/database';
import { type AuditEvent, storeEvents } from '../audit/audit.ts';
import { lockImports } from '../import/store.ts';
import type { Services } from '../services.ts';
import type { Caller } from './authorize.ts';

export interface Change<Result> {
  readonly result: Result;
  /** Their `detail.operator` is added. */
  readonly events: readonly AuditEvent[];
  /** Whether `writePlan` has stored the events already. */
  readonly isStored?: boolean;
}

export type MakeChange = <Result>(
  caller: Caller,
  work: (tx: Transaction) => Promise<Change<Result>>,
) => Promise<Result>;

export const createMakeChange =
  ({ db, audit, logoutSender }: Services): MakeChange =>
  async ({ clientId }, work) => {
    const { result, events } = await transaction(db, async (tx) => {
      await lockImports(tx);
      const change = await work(tx);
      if (change.isStored) return change;
      const complete = change.events.map((event) => ({ ...event, detail: { ...event.detail, operator: clientId } }));
      if (complete.length > 0) await storeEvents(tx, complete);
      return { ...change, events: complete };
    });
    for (const event of events) audit.log(event);
    logoutSender.sendQueued();
    return result;
  };
