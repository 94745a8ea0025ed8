// Tests the OpenAPI document and the reference page (docs/behaviour.md, "The OpenAPI document").

import { readFileSync } from 'node:fs';
import {
  chromiumMissing,
  contextOptions,
  findViolations,
  hasChromium,
  launchChromium,
  overflowsHorizontally,
} from '@bay-booking/testkit/browser';
import { useFixture } from '@bay-booking/testkit/fixture';
import { expect, test } from '@jest/globals';
import { errorCatalogue } from '../src/errors.ts';
import { createTestSystem } from './support/test-system.ts';

if (!hasChromium) process.stderr.write(`The test of the reference page is skipped: ${chromiumMissing}\n`);

const system = useFixture(() => createTestSystem());

const checkedIn = JSON.parse(readFileSync(`${import.meta.dirname}/../openapi.json`, 'utf8'));

test('GET /openapi.json returns OpenAPI 3.1 with the addresses of this service, without a token', async () => {
  const { status, body, headers } = await system.call('GET', '/openapi.json', { token: null });
  expect(status).toBe(200);
  expect(headers['content-type']).toBe('application/json; charset=utf-8');
  expect(body.openapi).toBe('3.1.0');
  expect(body.servers).toEqual([{ url: 'https://bookings.example', description: 'This service.' }]);
  expect(body.components.securitySchemes.clientCredentials.flows.clientCredentials.tokenUrl).toBe(
    `${system.issuer.url}/connect/token`,
  );
});

/** The paths of the properties in which two JSON documents differ, such as `paths./api/bookings.get.summary`. */
function differingProperties(one: unknown, other: unknown, path: readonly string[] = []): readonly string[] {
  if (JSON.stringify(one) === JSON.stringify(other)) return [];
  if (typeof one !== 'object' || typeof other !== 'object' || !one || !other) return [path.join('.')];
  const [properties, others] = [one, other] as [Record<string, unknown>, Record<string, unknown>];
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].flatMap((name) =>
    differingProperties(properties[name], others[name], [...path, name]),
  );
}

test('the checked-in openapi.json equals the served document except for the addresses', async () => {
  const { text } = await system.call('GET', '/openapi.json', { token: null });
  const withDemoAddresses = text
    .replaceAll('https://bookings.example', 'http://localhost:4001')
    .replaceAll(system.issuer.url, 'http://localhost:4000');
  const outdated = differingProperties(JSON.parse(withDemoAddresses), checkedIn);
  if (outdated.length > 0)
    throw new Error(`openapi.json is outdated, run \`npm run generate\`. It differs in:\n${outdated.join('\n')}`);
});

test('the document has the nine endpoints of the specification and exactly those of docs/behaviour.md', () => {
  const operations = Object.entries(checkedIn.paths as Record<string, object>).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(operations.sort()).toEqual([
    'DELETE /api/booking-closures/{id}',
    'DELETE /api/booking-holds/{id}',
    'DELETE /api/booking-locations/{id}/opening-hours',
    'DELETE /api/bookings/{id}',
    'DELETE /api/webhooks/{id}',
    'GET /api/bays/{id}/upcoming-bookings',
    'GET /api/booking-availability',
    'GET /api/booking-bays',
    'GET /api/booking-changes',
    'GET /api/booking-closures',
    'GET /api/booking-closures/{id}',
    'GET /api/booking-holds/{id}',
    'GET /api/booking-locations',
    'GET /api/booking-locations/{id}',
    'GET /api/booking-locations/{id}/opening-hours',
    'GET /api/bookings',
    'GET /api/bookings/{id}',
    'GET /api/webhooks',
    'GET /api/webhooks/{id}',
    'GET /api/webhooks/{id}/deliveries',
    'POST /api/booking-closures',
    'POST /api/booking-holds',
    'POST /api/bookings',
    'POST /api/webhooks',
    'POST /api/webhooks/{id}/ping',
    'POST /api/webhooks/{id}/replay',
    'POST /api/webhooks/{id}/rotate',
    'PUT /api/booking-closures/{id}',
    'PUT /api/booking-holds/{id}',
    'PUT /api/booking-locations/{id}/opening-hours',
    'PUT /api/bookings/{id}',
    'PUT /api/webhooks/{id}',
  ]);
});

test('the document has every error code, and each of its references resolves', () => {
  const text = JSON.stringify(checkedIn);
  for (const code of Object.keys(errorCatalogue)) expect(text).toContain(`"${code}"`);
  for (const [, name] of text.matchAll(/#\/components\/schemas\/(\w+)/g)) {
    expect(checkedIn.components.schemas).toHaveProperty(name as string);
  }
});

test('GET /docs returns a page without scripts and external resources, without a token', async () => {
  const { status, text, headers } = await system.call('GET', '/docs', { token: null });
  expect(status).toBe(200);
  expect(headers['content-type']).toBe('text/html; charset=utf-8');
  expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; /);
  for (const path of Object.keys(checkedIn.paths)) expect(text).toContain(path);
  for (const code of Object.keys(errorCatalogue)) expect(text).toContain(code);
  expect(text).not.toMatch(/<script|<link|<img|@import|url\(/i);
});

(hasChromium ? test : test.skip)(
  'GET /docs is accessible on a phone, with all examples open',
  async () => {
    const browser = await launchChromium();
    try {
      const context = await browser.newContext(contextOptions({ width: 390, scheme: 'light' }, true));
      const page = await context.newPage();
      await page.goto(`${system.url}/docs`);
      for (const summary of await page.locator('summary').all()) await summary.click();
      expect(await overflowsHorizontally(page)).toBe(false);
      expect(await findViolations(page)).toEqual([]);
    } finally {
      await browser.close();
    }
  },
  60_000,
);
