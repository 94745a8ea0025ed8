// Strips types from TypeScript for jest with Node's own function, so that tests run the same JavaScript as production.
import { createHash } from 'node:crypto';
import { stripTypeScriptTypes } from 'node:module';

export default {
  process: (source) => ({ code: stripTypeScriptTypes(source, { mode: 'strip' }) }),
  getCacheKey: (source, path) => createHash('sha1').update(`${process.version}${path}\0${source}`).digest('hex'),
};
