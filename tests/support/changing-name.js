// Makes each DNS lookup of the name `changing.test` return another address. Tests load this file into an instance with
// `node --import`. CHANGING_NAME lists the addresses. After the last address, all lookups return the last address.
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';

const addresses = (process.env.CHANGING_NAME ?? '').split(',');
const next = () => ({ address: addresses.length > 1 ? addresses.shift() : addresses[0], family: 4 });

const { lookup } = dns;
dns.lookup = (hostname, options, callback) => {
  if (hostname !== 'changing.test') return lookup(hostname, options, callback);
  const found = next();
  if (options.all) callback(null, [found]);
  else callback(null, found.address, found.family);
};

const { lookup: lookupLater } = dns.promises;
dns.promises.lookup = async (hostname, options) => {
  if (hostname !== 'changing.test') return lookupLater(hostname, options);
  return options?.all ? [next()] : next();
};
syncBuiltinESMExports();
