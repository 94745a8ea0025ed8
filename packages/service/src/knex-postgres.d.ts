// knex documents subclassing its dialects but ships no types for them.
declare module 'knex/lib/dialects/postgres/index.js' {
  export default class PostgresClient {
    _query(connection: object, query: { sql: string; options?: object }): Promise<object>;
  }
}
