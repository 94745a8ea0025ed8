// Imports the body of a request: a large one in a worker thread, so that other requests do not wait for its parsing.

import { parentPort, Worker, workerData } from 'node:worker_threads';
import { apiErrorOf } from '@bay-booking/service/http/api/router';
import { parseJsonObject } from '@bay-booking/service/http/request-body';
import type { ChangeRequest } from './change.ts';
import { importDocument, type RecordStore, RejectedImport } from './import.ts';

interface ImportRequest {
  readonly bytes: Uint8Array;
  readonly request: ChangeRequest;
}

/** Returns errors in parts, because errors lose their class on their way between threads. */
async function importBytes(store: RecordStore, { bytes, request }: ImportRequest) {
  const { errors } = store;
  try {
    const { response, notes } = await importDocument(store, parseJsonObject(bytes, errors.apiError), request);
    const { headers = {}, body } = response;
    return { status: 200, headers, body, notes };
  } catch (thrown) {
    const { badRequest, problemsOf } = errors;
    const error = thrown instanceof RejectedImport ? badRequest(problemsOf(thrown.problems)) : thrown;
    const { status, problems, headers, cause } = apiErrorOf(error, errors);
    return { status, problems, headers, cause: Error.isError(cause) ? cause.stack : undefined };
  }
}

type ImportResponse = Awaited<ReturnType<typeof importBytes>>;

/** A smaller body takes less time than the start of a thread. */
const largeBytes = 100_000;
/** Each has its own copy of the document. */
const maxWorkers = 1;
/** A small young generation is collected more often, so that an import needs less memory. */
const resourceLimits = { maxYoungGenerationSizeMb: 16 };

/** `module` calls `serveImport` with the same `settings`. */
export function createImporter(
  store: RecordStore,
  { module, settings }: { readonly module: URL; readonly settings: object },
): (request: ImportRequest) => Promise<ImportResponse> {
  let workers = 0;
  return async (request) => {
    if (request.bytes.length < largeBytes) return importBytes(store, request);
    if (workers >= maxWorkers) throw store.errors.apiError('ERR00503', { headers: { 'Retry-After': '30' } });
    workers += 1;
    const worker = new Worker(module, { workerData: { settings, request }, resourceLimits });
    try {
      return await new Promise<ImportResponse>((resolve, reject) => {
        worker.once('message', resolve);
        worker.once('error', reject);
        worker.once('exit', () => reject(new Error('the thread of an import ended')));
      });
    } finally {
      workers -= 1;
      await worker.terminate();
    }
  };
}

/** The main function of the thread. */
export async function serveImport<Settings>(
  createStore: (settings: Settings) => RecordStore | Promise<RecordStore>,
): Promise<void> {
  const { settings, request } = workerData as { readonly settings: Settings; readonly request: ImportRequest };
  const store = await createStore(settings);
  const response = await importBytes(store, request);
  await store.db.destroy();
  parentPort?.postMessage(response);
}
