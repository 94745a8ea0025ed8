// Describes and handles the list of the changes that operators made.
import { isoTimeOf } from '@bay-booking/common/date-times';
import { type Endpoint, endpointDefiner, responseSchema, type Schema } from '@bay-booking/common/endpoint';
import { linksSchema } from '@bay-booking/common/links';
import { pageQuery } from '@bay-booking/common/page';
import { writeQueryString } from '@bay-booking/common/query-string';
import { textSchema } from '@bay-booking/common/text';
import { type Queryable, query } from '@bay-booking/service/database/database';
import { filterRows } from '@bay-booking/service/page-statements';
import { withFilters } from './endpoints.ts';
import type { Fields, Operator, RecordStore } from './record.ts';

export interface EventSource {
  /** A statement that returns every event as it is in the list, with "clientId" instead of `actor`. */
  readonly rows: string;
  /** The filters that only this service has, and their conditions (packages/service/src/page-statements.ts). */
  readonly filters?: Readonly<Record<string, Schema>>;
  readonly conditions?: Readonly<Record<string, string>>;
  /** Adds the values of conditions that have no filter. */
  readonly complete?: (filter: Fields) => Fields;
}

const path = '/management/audit';
const defaultLimit = 100;
const number = { type: 'integer', minimum: 0 } as const;
const dateTime = { type: 'string', format: 'date-time' } as const;

const item = responseSchema({
  number,
  at: dateTime,
  action: { type: 'string', description: 'Such as facility.updated.' },
  actor: responseSchema(
    {
      clientId: { type: 'string', description: 'The client, or the name of the command, such as import.' },
      subject: { type: 'string', description: 'The account of a person at the facility who made the change.' },
    },
    ['subject'],
  ),
  facilityId: { type: ['string', 'null'] },
  target: { type: 'string', description: 'The path of the record, such as facilities/fac-north.' },
  changed: { type: 'array', items: { type: 'string' }, description: 'The names of the fields that changed.' },
});

export const eventListSchema = responseSchema({
  items: { type: 'array', items: item },
  last: { ...number, description: 'The number of the last item, or the value of after if there is no item.' },
  _links: linksSchema('self', 'next'),
});

const { pageSize } = pageQuery(defaultLimit);
const commonQuery = {
  after: { ...number, description: 'Returns the events after the event with this number, in the order of the list.' },
  startDate: { ...dateTime, description: 'Events from this time.' },
  endDate: { ...dateTime, description: 'Events before this time.' },
  order: { enum: ['oldest', 'newest'], description: 'Which events come first; oldest if left out.' },
  action: { ...textSchema, description: 'Such as facility.updated.' },
  facilityId: { ...textSchema, description: 'Facility ID.' },
  pageSize: { ...pageSize, description: `Maximum number of items; ${defaultLimit} if left out.` },
} as const;

export function eventsEndpoint(
  { db, link }: Pick<RecordStore, 'db' | 'link'>,
  source: EventSource,
): Endpoint<Operator> {
  const oldestFirst = createFind(source, '>', 'asc');
  const newestFirst = createFind(source, '<', 'desc');
  return endpointDefiner<Operator>()({
    operationId: 'listEvents',
    method: 'GET',
    path,
    access: 'read',
    tag: 'Operations',
    summary: 'List the changes that operators made',
    description:
      'Every change by this API, an import or a command, with the names of the fields that changed. Follow next until ' +
      'a page has no items.',
    query: withFilters(commonQuery, source.filters ?? {}),
    success: { status: 200, description: 'A page of changes.', schema: eventListSchema },
    handle: async ({ query }) => {
      const { after, order, pageSize = defaultLimit } = query;
      const times = { startDate: isoTimeOf(query.startDate), endDate: isoTimeOf(query.endDate) };
      const rows = await (order === 'newest' ? newestFirst : oldestFirst)(db, { ...query, ...times }, pageSize);
      const last = rows.at(-1)?.number ?? after ?? 0;
      const linkAfter = (number_: number | undefined) =>
        link('GET', `${path}${writeQueryString({ ...query, after: number_ })}`);
      const items = rows.map(({ clientId, subject, ...event }) => ({
        ...event,
        actor: { clientId, ...(subject !== null && { subject }) },
      }));
      return { status: 200, body: { items, last, _links: { self: linkAfter(after), next: linkAfter(last) } } };
    },
  });
}

/** `after` is the number of an event: the list has those after it in its order. */
function createFind(
  { rows, conditions, complete = (filter) => filter }: EventSource,
  comparison: '>' | '<',
  order: 'asc' | 'desc',
) {
  const { sql, values } = filterRows({
    after: `number ${comparison} {after}::bigint`,
    startDate: 'at >= {startDate}::timestamptz',
    endDate: 'at < {endDate}::timestamptz',
    action: 'action = {action}',
    facilityId: '"facilityId" = {facilityId}',
    ...conditions,
  });
  const columns = 'number::float8 as number, at, action, "clientId", subject, "facilityId", target, changed';
  const limit = `limit $${values({}).length + 1}`;
  const statement = `select ${columns} from (${rows}) e where true${sql} order by e.number ${order} ${limit}`;
  return (on: Queryable, filter: Fields, count: number) =>
    query<{ number: number; clientId: string; subject: string | null }>(on, statement, [
      ...values(complete(filter)),
      count,
    ]);
}
