// Describes and handles the list of the changes that operators made.
import { type Endpoint, endpointDefiner, type Schema } from '@bay-booking/common/endpoint';
import { linksSchema, type MakeLink } from '@bay-booking/common/links';
import { writeQueryString } from '@bay-booking/common/query-string';
import type { Entry } from './record.ts';
import { objectSchema, pageQuery, text, withFilters } from './schemas.ts';

export interface EventRow {
  readonly number: number;
  readonly at: string | Date;
  readonly action: string;
  readonly clientId: string;
  readonly facilityId: string | null;
  /** The path of the record below `/management/`. */
  readonly target: string;
  readonly changed: readonly string[];
}

export interface EventQuery {
  /** The number of an event: those after it in the order of the list. Undefined: from the beginning. */
  readonly after: number | undefined;
  readonly startDate: string | undefined;
  readonly endDate: string | undefined;
  readonly isNewestFirst: boolean;
  readonly limit: number;
  /** The values of the service's own filters. */
  readonly filter: Entry;
}

export interface EventSource {
  readonly filters: Readonly<Record<string, Schema>>;
  readonly find: (query: EventQuery) => Promise<readonly EventRow[]>;
}

const path = '/management/audit';
const defaultLimit = 100;
const number = { type: 'integer', minimum: 0 } as const;
const dateTime = { type: 'string', format: 'date-time' } as const;

const item = objectSchema({
  number,
  at: dateTime,
  action: { type: 'string', description: 'Such as facility.updated.' },
  actor: objectSchema({
    clientId: { type: 'string', description: 'The client, or the name of the command, such as import.' },
  }),
  facilityId: { type: ['string', 'null'] },
  target: { type: 'string', description: 'The path of the record, such as facilities/fac-north.' },
  changed: { type: 'array', items: { type: 'string' }, description: 'The names of the fields that changed.' },
});

export const eventListSchema = objectSchema({
  items: { type: 'array', items: item },
  last: { ...number, description: 'The number of the last item, or the value of after if there is no item.' },
  _links: linksSchema('self', 'next'),
});

const commonQuery = {
  after: { ...number, description: 'Returns the events after the event with this number, in the order of the list.' },
  startDate: { ...dateTime, description: 'Events from this time.' },
  endDate: { ...dateTime, description: 'Events before this time.' },
  order: { enum: ['oldest', 'newest'], description: 'Which events come first; oldest if left out.' },
  action: { ...text, description: 'Such as facility.updated.' },
  pageSize: { ...pageQuery.pageSize, description: `Maximum number of items; ${defaultLimit} if left out.` },
} as const;

export function auditEndpoint<Caller>({ filters, find }: EventSource, link: MakeLink): Endpoint<Caller> {
  return endpointDefiner<Caller>()({
    operationId: 'listEvents',
    method: 'GET',
    path,
    access: 'read',
    tag: 'Operations',
    summary: 'List the changes that operators made',
    description:
      'Every change by this API, an import or a command, with the names of the fields that changed. Follow next until ' +
      'a page has no items.',
    query: withFilters(commonQuery, filters),
    success: { status: 200, description: 'A page of changes.', schema: eventListSchema },
    handle: async ({ query }) => {
      const { after, startDate, endDate, order, pageSize: limit = defaultLimit, ...filter } = query;
      const isNewestFirst = order === 'newest';
      const rows = await find({ after, startDate, endDate, isNewestFirst, limit, filter: filter as Entry });
      const last = rows.at(-1)?.number ?? after ?? 0;
      const linkAfter = (number_: number | undefined) =>
        link('GET', `${path}${writeQueryString({ ...query, after: number_ })}`);
      const items = rows.map(({ clientId, ...event }) => ({ ...event, actor: { clientId } }));
      return { status: 200, body: { items, last, _links: { self: linkAfter(after), next: linkAfter(last) } } };
    },
  });
}
