// What has happened at this facility, in plain words, who did it and when? Words here are pure; the rows are the audit trail's.
import { Router } from 'express';
import { queryText } from '../html/form-body.ts';
import { type HistoryRow, type HistoryStore, historyPagesAtMost } from './history-store.ts';
import { facilityCrumbs, type PortalPages } from './page.ts';
import { roleWords } from './rules.ts';
import { span } from './time-format.ts';

const word = (detail: HistoryRow['detail'], name: string): string => String(detail[name] ?? '');
const role = (value: unknown): string => (roleWords as Record<string, string>)[String(value)] ?? String(value);

const words: Readonly<Record<string, (detail: HistoryRow['detail']) => string>> = {
  'invitation.sent': (detail) => `invited ${word(detail, 'email')} as ${role(detail.role)}`,
  'invitation.resent': (detail) => `sent ${word(detail, 'email')} the invitation as ${role(detail.role)} again`,
  'invitation.withdrawn': (detail) => `withdrew the invitation of ${word(detail, 'email')} as ${role(detail.role)}`,
  'invitation.accepted': (detail) =>
    `accepted the invitation of ${word(detail, 'email')} and became ${role(detail.role)}`,
  'membership.role-changed': (detail) =>
    `changed the role of ${word(detail, 'name')} from ${role(detail.from)} to ${role(detail.to)}`,
  'membership.revoked': (detail) =>
    detail.self
      ? `gave up the role ${role(detail.role)}`
      : `revoked the role ${role(detail.role)} of ${word(detail, 'name')}`,
  'service-account.token-created': (detail) =>
    `created the personal access token “${word(detail, 'name')}”, good for ${span(Number(detail.days) * 86_400)}`,
  'service-account.token-rotated': (detail) =>
    Number(detail.overlap) === 0
      ? `gave the personal access token “${word(detail, 'name')}” a new secret; the old one ended at once`
      : `gave the personal access token “${word(detail, 'name')}” a new secret; the old one lasts ${span(Number(detail.overlap))} more`,
  'service-account.token-revoked': (detail) => `revoked the personal access token “${word(detail, 'name')}”`,
};

export const describeEvent = ({ kind, detail }: Pick<HistoryRow, 'kind' | 'detail'>): string =>
  words[kind]?.(detail) ?? kind;

export interface HistoryPagesOptions {
  readonly pages: PortalPages;
  readonly history: HistoryStore;
  /** Resolves when the events so far are written. */
  readonly written: () => Promise<void>;
}

export function historyRoutes({ pages, history, written }: HistoryPagesOptions): Router {
  const router = Router();
  router.get(
    '/portal/facilities/:facilityId/history',
    pages.forManager(async (request, response, { facility }) => {
      const asked = Number(queryText(request, 'page') ?? '1');
      if (!Number.isInteger(asked) || asked < 1 || asked > historyPagesAtMost) return pages.notFound(request, response);
      await written();
      const { rows, more } = await history.page(facility.id, asked);
      const events = rows.map((row) => ({
        ...row,
        who: row.who ?? 'An account that is gone',
        words: describeEvent(row),
      }));
      return pages.show(
        request,
        response,
        'history',
        { facility, events, page: asked, more },
        { title: `History of ${facility.name}`, width: 'wide', crumbs: facilityCrumbs(facility) },
      );
    }),
  );
  return router;
}
