// Compares requests with a DPoP token, which is bound to a key, with requests with a Bearer token. One instance of the
// bookings service receives both. The measured request is the cheapest one of the API, because DPoP then makes the
// largest relative difference.
import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTestIssuer } from '@bay-booking/testkit/issuer';
import { baseUrl, scope, startBookings } from './bookings-service.ts';
import { inOneDay } from './compare-bookings.ts';
import { createdFrom, type Dataset, facilitiesInToken, facilityIds } from './dataset.ts';
import { measure, type Operation, type RunOptions, type Sample, serviceCore } from './measure.ts';
import { onDatabase } from './server.ts';

export interface CompareDpopOptions extends RunOptions {
  readonly databaseUrl: string;
  readonly dataset: Dataset;
}

/**
 * The number of connections, which is large enough to keep the service busy. With few connections, the service waits
 * for the database most of the time. The CPU time of a request then depends on how many requests arrive together.
 */
const connections = 64;
/**
 * Every request needs a new proof. This many proofs are prepared for each second of a round. The service handles fewer
 * requests per second.
 */
const proofsPerSecond = 8_000;

export async function compareDpop(options: CompareDpopOptions): Promise<Sample[]> {
  const { databaseUrl, dataset, folder } = options;
  const issuer = await createTestIssuer({ audience: baseUrl });
  const child = await startBookings({ databaseUrl, issuer, core: serviceCore });
  try {
    const claims = { facilities: facilityIds(facilitiesInToken(dataset)), scope, exp: inOneDay() };
    const key = createProofKey();
    const bearer = await issuer.token(claims);
    const bound = await issuer.token({ ...claims, cnf: { jkt: key.thumbprint } });
    const paths = await findPaths(databaseUrl, claims.facilities);
    const pathsFile = join(folder, 'paths');
    writeFileSync(pathsFile, `${paths.join('\n')}\n`);
    const proofsFile = join(folder, 'proofs');
    const operation: Operation = {
      name: 'dpop',
      load: ({ name }) => {
        if (name === 'Bearer') return { script: 'get.lua', args: [bearer, pathsFile] };
        const lines = Array.from({ length: proofsPerSecond * Math.max(1, options.seconds) }, (_, index) => {
          const path = paths[index % paths.length] as string;
          return `${path} ${key.proof(path, bound)}\n`;
        });
        writeFileSync(proofsFile, lines.join(''));
        return { script: 'get-with-proof.lua', args: [bound, proofsFile] };
      },
    };
    // Both targets are the same instance. Their names select the token in `load`.
    const targets = ['Bearer', 'DPoP'].map((name) => ({ name, ...child }));
    return await measure({ ...options, connections, operation, targets });
  } finally {
    await child.stop();
    await issuer.close();
  }
}

/** Returns the paths of up to 5000 loaded bookings in a random order that is the same in every run. */
const findPaths = (databaseUrl: string, facilities: readonly string[]): Promise<readonly string[]> =>
  onDatabase(databaseUrl, async (client) => {
    const { rows } = await client.query<{ path: string }>(
      `select '/api/bookings/' || id as path from booking
        where facility_id = any($1) and start_date < '${createdFrom}' order by md5(id::text) limit 5000`,
      [facilities],
    );
    return rows.map(({ path }) => path);
  });

const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64url');
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function createProofKey() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { crv, kty, x, y } = privateKey.export({ format: 'jwk' });
  // The thumbprint is the hash of exactly these fields in exactly this order (RFC 7638).
  const jwk = { crv, kty, x, y };
  const header = encode({ typ: 'dpop+jwt', alg: 'ES256', jwk });
  return {
    thumbprint: sha256(JSON.stringify(jwk)),
    proof: (path: string, accessToken: string): string => {
      const iat = Math.floor(Date.now() / 1000);
      const payload = { jti: randomUUID(), htm: 'GET', htu: baseUrl + path, iat, ath: sha256(accessToken) };
      const signed = `${header}.${encode(payload)}`;
      const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
      return `${signed}.${signature.toString('base64url')}`;
    },
  };
}
