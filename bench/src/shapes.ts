// Measures the kinds of requests ("shapes") of shape-list.ts with one client: the time over HTTP, the time in
// PostgreSQL, and whether PostgreSQL scans the whole table.
import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { markdown } from './report.ts';
import { type Shape, type Sources, shapes } from './shape-list.ts';
import { formatNumber, median, percentile } from './statistics.ts';

/** Durations are in milliseconds. `database`, `statements` and `rowsRead` are averages per request. */
export interface ShapeResult {
  /** The number of facilities in the token, such as `100 facilities`. */
  readonly tenant: string;
  readonly shape: string;
  readonly p50: number;
  readonly p99: number;
  /** The time in which PostgreSQL executed statements, in ms per request. */
  readonly database: number;
  /** The time of the slowest statement, in ms. */
  readonly slowest: number;
  readonly statements: number;
  /** The number of rows of the table `booking` that PostgreSQL read, per request. */
  readonly rowsRead: number;
  /** How often PostgreSQL scanned the whole table `booking`, in all requests. */
  readonly sequentialScans: number;
  /** The field `total` of the first response: the number of entries in all pages of the list. */
  readonly total: number;
}

export interface ShapeOptions {
  readonly client: pg.Client;
  readonly url: string;
  readonly token: string;
  /** Names the tenant in the results, see `ShapeResult`. */
  readonly tenant: string;
  readonly sources: Sources;
  /** The number of measured requests per shape. */
  readonly requests: number;
  /** Measures only the shapes whose name contains this text. Undefined measures all shapes. */
  readonly only: string | undefined;
  readonly log: (line: string) => void;
}

export async function measureShapes(options: ShapeOptions): Promise<ShapeResult[]> {
  const results: ShapeResult[] = [];
  for (const shape of shapes) {
    if (options.only && !shape.name.includes(options.only)) continue;
    const result = await measureShape(options, shape).catch((error: unknown): ShapeResult => {
      options.log(Error.isError(error) ? error.message : String(error));
      return { tenant: options.tenant, shape: `${shape.name} (failed)`, ...unknownValues };
    });
    options.log(
      `${result.tenant}, ${result.shape}: p50 ${formatNumber(result.p50)} ms, p99 ${formatNumber(result.p99)} ms`,
    );
    results.push(result);
  }
  return results;
}

/** The values in the report if the measurement of a shape has failed. */
const unknownValues = {
  p50: Number.NaN,
  p99: Number.NaN,
  database: Number.NaN,
  slowest: Number.NaN,
  statements: Number.NaN,
  rowsRead: Number.NaN,
  sequentialScans: Number.NaN,
  total: Number.NaN,
};

const warmUpRequests = 15;
/** The timeout of a request. */
const timeoutMs = 30_000;
/**
 * The number of simultaneous requests after which every database session of the service has published its counters of
 * rows and scans. The service uses several sessions for these requests.
 */
const publishingRequests = 4;

async function measureShape(
  { client, url, token, tenant, sources, requests }: ShapeOptions,
  shape: Shape,
): Promise<ShapeResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: publishingRequests });
  const send = (path: string) => request(agent, `${url}${path}`, token);
  const first = await send(shape.path(sources));
  // Some shapes request a page near the end of the list. The number of this page depends on the number of pages.
  const page = shape.page?.(first.pageCount ?? 1);
  // Most paths contain values that are chosen at random from `sources`, so each request gets a new path.
  const createPath = () => `${shape.path(sources)}${page === undefined ? '' : `&page=${page}`}`;
  for (let n = 0; n < warmUpRequests; n++) await send(createPath());
  await publishCounters(() => send(createPath()));
  await client.query('select pg_stat_statements_reset()');
  const before = await readTableCounters(client);
  const times: number[] = [];
  for (let n = 0; n < requests; n++) {
    const path = createPath();
    const startedAt = performance.now();
    await send(path);
    times.push(performance.now() - startedAt);
  }
  const statements = await readStatementCounters(client);
  await publishCounters(() => send(createPath()));
  const after = await readTableCounters(client);
  agent.destroy();
  return {
    tenant,
    shape: shape.name,
    p50: median(times),
    p99: percentile(times, 0.99),
    database: statements.total / requests,
    slowest: statements.slowest,
    statements: statements.calls / requests,
    // The rows include those of the requests that were sent after the measured ones to publish the counters.
    rowsRead: (after.rows - before.rows) / (requests + publishingRequests),
    sequentialScans: after.scans - before.scans,
    total: first.total ?? Number.NaN,
  };
}

/**
 * Makes PostgreSQL publish the counters of all sessions. A session publishes its counters at the end of a statement,
 * but at most once per second. This function therefore waits for longer than a second, and then runs a statement in
 * each session.
 */
async function publishCounters(send: () => Promise<unknown>): Promise<void> {
  await sleep(1_100);
  await Promise.all(Array.from({ length: publishingRequests }, send));
}

async function readTableCounters(client: pg.Client): Promise<{ rows: number; scans: number }> {
  const { rows } = await client.query(
    "select seq_scan, seq_tup_read + coalesce(idx_tup_fetch, 0) as rows from pg_stat_user_tables where relname = 'booking'",
  );
  return { rows: Number(rows[0].rows), scans: Number(rows[0].seq_scan) };
}

/** Reads the total and the longest time of the service's statements, in ms, and their number. */
async function readStatementCounters(client: pg.Client): Promise<{ total: number; slowest: number; calls: number }> {
  // The last condition leaves out the statements of this file, which read the statistics of PostgreSQL.
  const { rows } = await client.query(
    `select sum(total_exec_time) as total, max(max_exec_time) as slowest, sum(calls) as calls from pg_stat_statements
     where dbid = (select oid from pg_database where datname = current_database()) and query not like '%pg_stat%'`,
  );
  return { total: Number(rows[0].total), slowest: Number(rows[0].slowest), calls: Number(rows[0].calls) };
}

interface ShapeResponse {
  readonly total?: number;
  readonly pageCount?: number;
}

function request(agent: Agent, url: string, token: string): Promise<ShapeResponse> {
  return new Promise((resolve, reject) => {
    const sent = get(url, { agent, headers: { Authorization: `Bearer ${token}` }, timeout: timeoutMs }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => {
        if (response.statusCode === 200) resolve(JSON.parse(text));
        else reject(new Error(`${response.statusCode} from ${url.slice(0, 200)}: ${text.slice(0, 300)}`));
      });
    });
    sent.on('timeout', () => sent.destroy(new Error(`no response within ${timeoutMs} ms from ${url.slice(0, 200)}`)));
    sent.on('error', reject);
  });
}

export function shapeTable(results: readonly ShapeResult[]): string {
  const head = [
    'tenant',
    'shape',
    'matches',
    'p50 ms',
    'p99 ms',
    'in PostgreSQL ms',
    'slowest ms',
    'statements',
    'rows read',
    'seq scans',
  ];
  const rows = results.map((r) => [
    r.tenant,
    r.shape,
    Number.isFinite(r.total) ? String(r.total) : '',
    formatNumber(r.p50),
    formatNumber(r.p99),
    formatNumber(r.database),
    formatNumber(r.slowest),
    formatNumber(r.statements),
    formatNumber(r.rowsRead),
    String(r.sequentialScans),
  ]);
  return markdown(head, rows);
}
