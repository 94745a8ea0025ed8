// Exports what packages/service/src/database/database.ts exports, for the tests (resolver.js).
import { loadOnce } from '../src/load-once.ts';

const file = new URL('../../service/src/database/database.ts', import.meta.url);
const database = await loadOnce<typeof import('@bay-booking/service/database/database')>(file);
export const { asPgClient, connectDatabase, errorCode, isUnavailable, jsonText, logOutages } = database;
export const { markAsUnavailable, query, queryOne, Rollback, send, transaction } = database;
