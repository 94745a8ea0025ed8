// Starts the Bookings API and its peers.
import type { TestIssuer } from '@bay-booking/testkit/issuer';
import { type Child, startProgram, startService } from './processes.ts';

/** All targets have this base URL, so that their responses can be compared. */
export const baseUrl = 'http://bookings.bench.example';
export const scopeBase = 'https://bay-booking.example';
export const scope = `${scopeBase}/golf/bookings`;

export const startBookings = (name: string, release: string, databaseUrl: string, issuer: TestIssuer): Promise<Child> =>
  startService(name, release, 'bookings', () => ({
    DATABASE_URL: databaseUrl,
    BASE_URL: baseUrl,
    AUTH_ISSUER: issuer.url,
    AUTH_JWKS_URI: issuer.jwksUri,
    SCOPE_BASE: scopeBase,
    WEBHOOK_KEY: Buffer.alloc(32, 'bench').toString('base64'),
  }));

/** The servers that handle the operations of `peerOperations` in other ways. */
export const peers = ['fastify', 'express'];
export const peerOperations = ['get', 'search', 'create', 'update', 'delete'];

export const startPeer = (name: string, databaseUrl: string, { url, jwksUri }: TestIssuer): Promise<Child> =>
  startProgram(name, { databaseUrl, jwksUri, issuer: url, audience: baseUrl, scope, baseUrl });
