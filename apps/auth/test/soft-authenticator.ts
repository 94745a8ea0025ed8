// Simulates a passkey (Web Authentication Level 3): creates its credential, and signs the challenges of pages.
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { Page } from '@bay-booking/testkit/form-browser';

const sha256 = (content: Buffer | string): Buffer => createHash('sha256').update(content).digest();
const flags = { userPresent: 0x01, userVerified: 0x04, attestedData: 0x40 };

/** The beginning of a text or byte string in CBOR (RFC 8949), whose length is at most 65 535. */
function cbor(major: 2 | 3, content: Buffer): Buffer {
  const { length } = content;
  if (length < 24) return Buffer.concat([Buffer.from([(major << 5) | length]), content]);
  if (length < 256) return Buffer.concat([Buffer.from([(major << 5) | 24, length]), content]);
  return Buffer.concat([Buffer.from([(major << 5) | 25, length >> 8, length & 255]), content]);
}
const text = (value: string): Buffer => cbor(3, Buffer.from(value));

/** Returns the options that a page gives to the browser, in the page or at an address. */
async function optionsOf({ html, url }: Page): Promise<{ challenge: string }> {
  const address = /data-options-url="([^"]*)"/.exec(html)?.[1];
  if (address) return (await fetch(new URL(address, url))).json() as Promise<{ challenge: string }>;
  const json = /data-options="([^"]*)"/.exec(html)?.[1] ?? '';
  return JSON.parse(json.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&'));
}

export function createSoftAuthenticator(origin: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const id = randomBytes(32);
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  // The COSE key {1: 2, 3: -7, -1: 1, -2: x, -3: y} (RFC 9052).
  const coseKey = Buffer.concat([
    Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21]),
    cbor(2, Buffer.from(x, 'base64url')),
    Buffer.from([0x22]),
    cbor(2, Buffer.from(y, 'base64url')),
  ]);

  const authenticatorData = (isVerified: boolean, counter: number, attested = Buffer.alloc(0)): Buffer => {
    const counterBytes = Buffer.alloc(4);
    counterBytes.writeUInt32BE(counter);
    const flag = flags.userPresent | (isVerified ? flags.userVerified : 0) | (attested.length ? flags.attestedData : 0);
    return Buffer.concat([sha256(new URL(origin).hostname), Buffer.from([flag]), counterBytes, attested]);
  };
  const clientData = async (type: string, page: Page): Promise<Buffer> =>
    Buffer.from(JSON.stringify({ type, challenge: (await optionsOf(page)).challenge, origin, crossOrigin: false }));
  const credential = (response: Record<string, Buffer>) =>
    JSON.stringify({
      id: id.toString('base64url'),
      rawId: id.toString('base64url'),
      type: 'public-key',
      clientExtensionResults: {},
      response: Object.fromEntries(
        Object.entries(response).map(([name, value]) => [name, value.toString('base64url')]),
      ),
    });

  return {
    publicKey: coseKey.toString('base64'),

    /** The response to the page that adds a passkey. */
    async create(page: Page, { isVerified = true, counter = 0 } = {}): Promise<string> {
      const length = Buffer.from([0, id.length]);
      const attested = Buffer.concat([Buffer.alloc(16), length, id, coseKey]);
      const attestationObject = Buffer.concat([
        Buffer.from([0xa3]),
        text('fmt'),
        text('none'),
        text('attStmt'),
        Buffer.from([0xa0]),
        text('authData'),
        cbor(2, authenticatorData(isVerified, counter, attested)),
      ]);
      return credential({ clientDataJSON: await clientData('webauthn.create', page), attestationObject });
    },

    /** The response to a page that asks for the passkey. */
    async get(page: Page, { isVerified = true, counter = 0 } = {}): Promise<string> {
      const clientDataJSON = await clientData('webauthn.get', page);
      const data = authenticatorData(isVerified, counter);
      const signature = sign('sha256', Buffer.concat([data, sha256(clientDataJSON)]), privateKey);
      return credential({ clientDataJSON, authenticatorData: data, signature });
    },
  };
}
