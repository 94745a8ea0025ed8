// Tests the OpenAPI document and the page /docs with the API reference (docs/behaviour.md, "The OpenAPI document"), and
// what the page /day loads.
import { readFileSync } from 'node:fs';
import { SourceTextModule } from 'node:vm';
import type { DocumentedError } from '@bay-booking/common/errors';
import { describe, expect, test } from '@jest/globals';
import { errorCatalogue } from '../src/errors.ts';
import { createExtraSystem, useTestSystem } from './support/test-system.ts';

const system = useTestSystem({ config: { daySheetClientId: 'day-sheet' } });

const checkedIn = JSON.parse(readFileSync(`${import.meta.dirname}/../openapi.json`, 'utf8'));

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, object>>;
}

function operations(): readonly Operation[] {
  const paths = Object.values(checkedIn.paths as Record<string, Record<string, Operation>>);
  const found = paths.flatMap((methods) => Object.values(methods));
  // Tests that check every operation would otherwise check nothing.
  expect(found.length).toBeGreaterThan(40);
  return found;
}

test('GET /openapi.json returns OpenAPI 3.1 with the addresses of this service, without a token', async () => {
  const { status, body, headers } = await system.call('GET', '/openapi.json', { token: null });
  expect(status).toBe(200);
  expect(headers['content-type']).toBe('application/json; charset=utf-8');
  expect(body.openapi).toBe('3.1.0');
  expect(body.servers).toEqual([{ url: 'https://bookings.example', description: 'This service.' }]);
  expect(body.components.securitySchemes.clientCredentials.flows.clientCredentials.tokenUrl).toBe(
    `${system.issuer.url}/connect/token`,
  );
  expect(headers).toMatchObject({ 'content-encoding': 'gzip', 'cache-control': 'public, max-age=300' });
  const ifNoneMatch = { 'If-None-Match': headers.etag as string };
  expect((await system.call('GET', '/openapi.json', { token: null, headers: ifNoneMatch })).status).toBe(304);
});

/** Returns the paths of the properties that differ between two documents, such as `paths./api/bookings.get.summary`. */
function differingProperties(first: unknown, second: unknown, path: readonly string[] = []): readonly string[] {
  if (JSON.stringify(first) === JSON.stringify(second)) return [];
  if (typeof first !== 'object' || typeof second !== 'object' || !first || !second) return [path.join('.')];
  const [properties, others] = [first, second] as [Record<string, unknown>, Record<string, unknown>];
  return [...new Set([...Object.keys(first), ...Object.keys(second)])].flatMap((name) =>
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

test('every error response of an operation is a reference, and the description lists each error code once', () => {
  for (const { responses } of operations())
    for (const [status, response] of Object.entries(responses))
      if (Number(status) >= 400) expect(response).toEqual({ $ref: `#/components/responses/Error${status}` });
  const { description } = checkedIn.info;
  // A text that contains the code once is split into two parts.
  for (const code of Object.keys(errorCatalogue)) expect(description.split(`\`${code}\``)).toHaveLength(2);
});

test('errors about a bay and about dates have examples with the field', () => {
  const exampleWith = (field: string) => ({ value: { errors: [{ contextData: { field } }] } });
  expect(checkedIn.components.responses?.Error400.content['application/json'].examples).toMatchObject({
    ERR00010: exampleWith('endDate'),
    ERR00011: exampleWith('endDate'),
    ERR00012: exampleWith('bayId'),
  });
});

test('every operation id in the error catalogue exists', () => {
  const operationIds = operations().map(({ operationId }) => operationId);
  const selectors = Object.values<DocumentedError>(errorCatalogue).flatMap(({ appliesTo }) =>
    typeof appliesTo === 'string' ? [] : appliesTo,
  );
  const named = selectors.filter((selector) => typeof selector === 'string');
  expect(named.length).toBeGreaterThan(10);
  for (const operationId of named) expect(operationIds).toContain(operationId);
});

/** Returns every object inside a part of the document, and the part itself. */
function schemasIn(schema: unknown): readonly Record<string, unknown>[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return [schema as Record<string, unknown>, ...Object.values(schema).flatMap(schemasIn)];
}

test('every object and alternative has a name, and every array items, so that generators of clients invent none', () => {
  const named = new Set(Object.values(checkedIn.components.schemas));
  const schemas = [checkedIn.paths, checkedIn.components.schemas, checkedIn.webhooks].flatMap(schemasIn);
  expect(schemas.filter(({ type, properties }) => type === 'object' && properties).length).toBeGreaterThan(30);
  for (const schema of schemas) {
    if (schema.type === 'object' && schema.properties && !named.has(schema))
      throw new Error(`lacks a name: ${JSON.stringify(schema)}`);
    if (schema.type === 'array') expect(schema).toHaveProperty('items');
    for (const alternative of Array.isArray(schema.oneOf) ? schema.oneOf : [])
      expect(alternative).toEqual({ $ref: expect.any(String) });
  }
  const { items } = checkedIn.components.schemas.BookingChangeList.properties;
  expect(items.items).toEqual({ $ref: '#/components/schemas/BookingChange' });
});

test('addresses have the format uri, and times of day a pattern that other languages accept, as has every text', () => {
  const { Webhook, CreateWebhook, FacilityWebhookListItems, HoursRange } = checkedIn.components.schemas;
  expect(Webhook.properties.url).toMatchObject({ type: ['string', 'null'], format: 'uri' });
  for (const { properties } of [CreateWebhook, FacilityWebhookListItems])
    expect(properties.url).toMatchObject({ type: 'string', format: 'uri' });
  const time = new RegExp(HoursRange.properties.opens.pattern);
  expect(['00:00', '23:59', '24:00', '7:00'].filter((text) => time.test(text))).toEqual(['00:00', '23:59']);
  // Rust and Pydantic refuse a pattern with surrogates or with look-around.
  for (const { pattern = '' } of schemasIn(checkedIn)) expect(pattern).not.toMatch(/\\ud[89a-f]|\(\?[=!<]/i);
});

test('no operation has an example of Idempotency-Key, which documentation tools would send', () => {
  const parameters = schemasIn(checkedIn.paths).filter(({ name }) => name === 'Idempotency-Key');
  expect(parameters.length).toBeGreaterThan(3);
  for (const parameter of parameters) expect(parameter).not.toHaveProperty('example');
});

describe('GET /docs', () => {
  const call = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    system.call('GET', path, { token: null, headers });
  const assetPathsOf = (html: string) => [...html.matchAll(/(?:src|href)="([^"]*\/docs\/assets\/[^"]+)"/g)];

  test('the page needs no token and no JavaScript, and names the document', async () => {
    const { status, text, headers } = await call('/docs');
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(text).toContain('<a href="/openapi.json">https://bookings.example/openapi.json</a>');
  });

  test('the page allows only files of this service, and requests to this service and the authorization server', async () => {
    const { text, headers } = await call('/docs');
    expect(headers['content-security-policy']?.split('; ')).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data:",
      `connect-src 'self' https://bookings.example ${system.issuer.url}`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ]);
    // The policy blocks scripts of other addresses, inline scripts, inline styles, and attributes such as `onclick`.
    expect(text).not.toMatch(/<script(?![^>]*\ssrc="\/docs)|<style|\sstyle=|\son\w+=/i);
  });

  test('the page loads files that are compressed, have an ETag, and can be cached for a year', async () => {
    const assets = [...new Set(assetPathsOf((await call('/docs')).text).map(([, path]) => path as string))];
    expect(assets.map((path) => path.split('/').at(-1)).join(' ')).toBe(
      'icon.svg swagger-ui.css page.css reference.css swagger-ui-bundle.js reference.js',
    );
    for (const path of assets) {
      const { status, headers } = await call(path, { 'Accept-Encoding': 'gzip' });
      expect(status).toBe(200);
      expect(headers).toMatchObject({
        'content-type': expect.stringMatching(/^(?:image\/svg\+xml|text\/(?:css|javascript); charset=utf-8)$/),
        'cache-control': 'public, max-age=31536000, immutable',
        'content-encoding': 'gzip',
        vary: 'Accept-Encoding',
        'x-content-type-options': 'nosniff',
      });
      expect((await call(path, { 'If-None-Match': headers.etag as string })).status).toBe(304);
      const plain = await call(path, { 'Accept-Encoding': 'identity' });
      expect(plain.headers['content-encoding']).toBeUndefined();
      expect(Number(plain.headers['content-length'])).toBeGreaterThan(Number(headers['content-length']));
      expect((await call(path.replace(/assets\/[^/]+/, 'assets/other'))).status).toBe(404);
    }
  });

  test('the page works if BASE_URL has a path, whether or not a proxy removes this path from requests', async () => {
    // A second instance on the same database, with another BASE_URL.
    const prefixed = await createExtraSystem({ sharing: system, config: { baseUrl: 'https://example.com/golf' } });
    const { text } = await prefixed.call('GET', '/golf/docs', { token: null });
    expect(text).toContain('data-document="/golf/openapi.json"');
    for (const path of ['/golf', '/golf/', '/'])
      expect((await prefixed.call('GET', path, { token: null })).headers.location).toBe('/golf/docs');
    for (const [, path = ''] of assetPathsOf(text)) {
      expect(path).toMatch(/^\/golf\/docs\/assets\//);
      expect((await prefixed.call('GET', path, { token: null })).status).toBe(200);
      expect((await prefixed.call('GET', path.slice('/golf'.length), { token: null })).status).toBe(200);
    }
  });
});

test('GET / leads to the reference', async () => {
  const { status, headers } = await system.call('GET', '/', { token: null });
  expect([status, headers.location]).toEqual([302, '/docs']);
  expect((await system.call('POST', '/', { token: null })).status).toBe(405);
});

test('GET /guide is docs/api.md as a page, with the addresses of this service', async () => {
  const { status, text, headers } = await system.call('GET', '/guide', { token: null });
  expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  expect(text).toContain('<h1 id="using-the-bookings-api">Using the Bookings API</h1>');
  expect(text).toContain(`AUTH=${system.issuer.url}\nBOOKINGS=https://bookings.example\n`);
  expect(text).not.toMatch(/localhost:400[01]|<script/);
});

/** Returns the page, the targets of the links in its HTML, and its ids. */
async function readPage({ call }: Pick<typeof system, 'call'>, path: string) {
  const { status, text } = await call('GET', path, { token: null });
  const valuesOf = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, value]) => value as string);
  return { status, text, links: valuesOf(/<a [^>]*href="([^"]*)"/g), ids: valuesOf(/ id="([^"]*)"/g) };
}

test('every reference of the guide is a link, and every link of its pages leads to a page and a heading', async () => {
  const prefixed = await createExtraSystem({ sharing: system, config: { baseUrl: 'https://example.com/golf' } });
  const pages = new Map([['/golf/guide', await readPage(prefixed, '/golf/guide')]]);
  // The iteration includes the pages that it adds.
  for (const [path, { links, ids }] of pages) {
    expect(ids).toEqual([...new Set(ids)]);
    for (const link of links.filter((href) => !/^https?:/.test(href))) {
      expect(link).toMatch(/^(?:#|\/golf\/)/);
      const { pathname, hash } = new URL(link, `https://example.com${path}`);
      const page = pages.get(pathname) ?? (await readPage(prefixed, pathname));
      expect([link, page.status]).toEqual([link, 200]);
      if (hash) expect(page.ids).toContain(hash.slice(1));
      if (pathname.startsWith('/golf/guide')) pages.set(pathname, page);
    }
  }
  expect(pages.size).toBe(9);
  const source = readFileSync(`${import.meta.dirname}/../../../docs/api.md`, 'utf8');
  const main = pages.get('/golf/guide')?.text.split('<main')[1] ?? '';
  expect(main.match(/<a /g)).toHaveLength([...source.matchAll(/\]\([^)]+\)|<http/g)].length);
});

test('every module of the day sheet imports only modules that the page can load', async () => {
  const pages = await Promise.all(['/day', '/day/'].map((path) => system.call('GET', path, { token: null })));
  const [beforeSignIn, afterSignIn] = pages.map(
    ({ text }) => text.match(/(?<=rel="modulepreload" href=")[^"]+/g) ?? [],
  );
  const paths = new Set(/(?<=<script type="module" src=")[^"]+/.exec(pages[0]?.text ?? ''));
  // A set returns what is added in a loop over it.
  for (const path of paths) {
    const { status, headers, text } = await system.call('GET', path, { token: null });
    const type = headers['content-type'];
    expect({ path, status, type }).toEqual({ path, status: 200, type: 'text/javascript; charset=utf-8' });
    const imported = new SourceTextModule(text).moduleRequests.map(({ specifier }) => specifier);
    const importedLater = [...text.matchAll(/\bimport\(['"]([^'"]+)/g)].map(([, specifier = '']) => specifier);
    for (const specifier of [...imported, ...importedLater]) {
      expect({ path, specifier }).toEqual({ path, specifier: expect.stringMatching(/^\.\//) });
      paths.add(new URL(specifier, `http://service${path}`).pathname);
    }
  }
  expect(paths.size).toBeGreaterThan(40);
  expect(new Set(afterSignIn)).toEqual(paths);
  // Before the sign-in, the page needs few of them.
  expect(beforeSignIn).toHaveLength(3);
});
