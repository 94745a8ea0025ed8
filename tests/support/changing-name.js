// Preloaded into an instance: the name changing.test leads to another address at each lookup. CHANGING_NAME lists the
// addresses; the last one remains.
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
