// knex documents subclassing its dialects, and pg bringing one's own queries, but neither ships types for it.
declare module 'knex/lib/dialects/postgres/index.js' {
  export default class PostgresClient {
    pool: object;
    acquireRawConnection(): Promise<object>;
    destroyRawConnection(connection: object): Promise<void>;
    initializePool(config: object): void;
    _query(connection: object, query: { sql: string; options?: object }): Promise<object>;
  }
}

declare module 'pg/lib/utils.js' {
  export function prepareValue(value: unknown): unknown;
}
