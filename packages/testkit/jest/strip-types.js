// Turns TypeScript into JavaScript for jest exactly as `node` does at run time, so that tests run the very code that ships.
import { createHash } from 'node:crypto';
import { stripTypeScriptTypes } from 'node:module';

export default {
  process: (source) => ({ code: stripTypeScriptTypes(source, { mode: 'strip' }) }),
  getCacheKey: (source, path) => createHash('sha1').update(`${process.version}${path}\0${source}`).digest('hex'),
};
