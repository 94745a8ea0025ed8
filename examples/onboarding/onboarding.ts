// Creates a facility with two locations, ten bays and opening hours at both services, and invites its owner.
import { readFile } from 'node:fs/promises';
import * as openid from 'openid-client';

const { AUTH_URL = 'http://localhost:4000', BOOKINGS_URL = 'http://localhost:4001' } = process.env;
const { CLIENT_ID = 'operator', KEY_FILE = 'operator.jwk.json' } = process.env;
const scopes = `${process.env.SCOPE_BASE ?? 'https://bay-booking.example'}/operate`;
const [id = '', name, timeZone, email] = process.argv.slice(2);
if (!email) throw new Error('usage: npm start -- ID NAME TIME_ZONE EMAIL');

const { kid, ...jwk } = JSON.parse(await readFile(KEY_FILE, 'utf8'));
const key = await crypto.subtle.importKey('jwk', jwk, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']);
const options = { execute: AUTH_URL.startsWith('http:') ? [openid.allowInsecureRequests] : [] };
const config = await openid.discovery(new URL(AUTH_URL), CLIENT_ID, {}, openid.PrivateKeyJwt({ key, kid }), options);

async function connect(service: string, url: string) {
  const token = await openid.clientCredentialsGrant(config, { scope: `${scopes}/${service}` });
  const headers = { Authorization: `Bearer ${token.access_token}`, 'Content-Type': 'application/json' };
  return async (method: string, path: string, body = {}): Promise<number> => {
    const init = { method, headers, body: JSON.stringify(body), signal: AbortSignal.timeout(10_000) };
    const response = await fetch(`${url}/management${path}`, init);
    if (!response.ok) throw new Error(`${method} ${response.url}: ${response.status} ${await response.text()}`);
    return response.status;
  };
}

const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
const openingHours = { weekly: Object.fromEntries(days.map((day) => [day, [{ opens: '07:00', closes: '22:00' }]])) };
const locations = ['ground', 'upper'].map((floor) => {
  const bays = [1, 2, 3, 4, 5].map((number) => ({ id: `${id}-${floor}-${number}`, name: `Bay ${number}` }));
  return { id: `${id}-${floor}`, name: `${name}, ${floor} floor`, openingHours, bays };
});
const facilities = [{ id, name, timeZone, locations }];
await (await connect('bookings', BOOKINGS_URL))('POST', '/import', { facilities });
const auth = await connect('auth', AUTH_URL);
const facility = `/facilities/${encodeURIComponent(id)}`;
// A second run changes nothing, and invites the owner only if the first one could not.
const isNew = (await auth('PUT', facility, { name, timeZone })) === 201;
const undo = (error: Error) => auth('DELETE', facility).then(() => Promise.reject(error));
if (isNew) await auth('POST', `${facility}/owner-invitations`, { email }).catch(undo);
console.log(`${id} has 2 locations with 10 bays, and ${email} is invited as owner`);
