// Makes each DNS lookup of `changing.test` return another address, as in an attack by DNS rebinding. Tests load this
// file with `node --import`.
//
// The environment variable CHANGING_NAME lists the addresses, separated by commas. The first lookup returns the first
// address, the second lookup the second address, and so on. When the list ends, all lookups return the last address.
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';

const addresses = (process.env.CHANGING_NAME ?? '').split(',');
const nextResult = () => ({ address: addresses.length > 1 ? addresses.shift() : addresses[0], family: 4 });

const { lookup } = dns;
dns.lookup = (hostname, options, callback) => {
  if (hostname !== 'changing.test') return lookup(hostname, options, callback);
  const result = nextResult();
  if (options.all) callback(null, [result]);
  else callback(null, result.address, result.family);
};

const { lookup: lookupAsync } = dns.promises;
dns.promises.lookup = async (hostname, options) => {
  if (hostname !== 'changing.test') return lookupAsync(hostname, options);
  return options?.all ? [nextResult()] : nextResult();
};
// Modules that import `lookup` by name get the replaced function only after this call.
syncBuiltinESMExports();
