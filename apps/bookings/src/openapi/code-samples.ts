// Writes examples of requests for each operation of the OpenAPI document, in curl and TypeScript.
import type { Endpoint, Schema } from '@bay-booking/common/endpoint';
import type { CodeSample } from '@bay-booking/common/openapi';
import { writeQueryString } from '@bay-booking/common/query-string';

export function codeSamples(endpoint: Endpoint<never>, baseUrl: string): readonly CodeSample[] {
  return [
    { lang: 'Shell', label: 'curl', source: curlSample(endpoint, baseUrl) },
    { lang: 'TypeScript', label: 'TypeScript', source: typeScriptSample(endpoint, baseUrl) },
  ];
}

function curlSample({ method, path, params, queryExamples, headers, bodyExample }: Endpoint<never>, baseUrl: string) {
  const url = `${baseUrl}${fillIn(path, params)}${writeQueryString(queryExamples ?? {})}`;
  const methodOption = method === 'GET' ? '' : `-X ${method} `;
  const lines = [`curl -sS ${methodOption}'${url}'`, '  -H "Authorization: Bearer $TOKEN"'];
  if (headers?.['Idempotency-Key']) lines.push('  -H "Idempotency-Key: $(uuidgen)"');
  if (bodyExample !== undefined) {
    const body = JSON.stringify(bodyExample, null, 2).replaceAll("'", "'\\''");
    lines.push("  -H 'Content-Type: application/json'", `  -d '${body}'`);
  }
  return lines.join(' \\\n');
}

function fillIn(path: string, params: Endpoint['params'] = {}): string {
  return path.replace(/\{(\w+)\}/g, (_match, name) => encodeURIComponent(params[name]?.example ?? ''));
}

function typeScriptSample(endpoint: Endpoint<never>, baseUrl: string): string {
  return `import { createBookingsClient } from '@bay-booking/client';

const client = createBookingsClient({
  baseUrl: '${baseUrl}',
  auth: { clientId: 'CLIENT_ID', clientSecret: 'CLIENT_SECRET' },
});

${callOf(endpoint)}`;
}

/** A list is read with `for await`, and other functions return a promise. */
function callOf(endpoint: Endpoint<never>): string {
  const { clientFunction, params, query, queryExamples, bodyExample, success } = endpoint;
  if (!clientFunction) return requestCallOf(endpoint);
  const ids = Object.values(params ?? {}).map(({ example }) => example);
  const values = [...ids, query ? queryExamples : bodyExample].filter((value) => value !== undefined);
  const call = `client.${clientFunction}(${values.map(literal).join(', ')})`;
  if (isList(success.schema)) return `for await (const item of ${call}) {\n  console.log(item);\n}`;
  return success.schema ? `const result = await ${call};\nconsole.log(result);` : `await ${call};`;
}

const isList = (schema: Schema = {}): boolean => 'items' in ((schema.properties as Schema | undefined) ?? {});

/** `client.request` can call every endpoint. */
function requestCallOf({ operationId, params = {}, queryExamples, bodyExample, success }: Endpoint<never>): string {
  const ids = Object.entries(params).map(([name, { example }]) => [name, example]);
  const path = ids.length > 0 ? Object.fromEntries(ids) : undefined;
  const request = literal({ path, query: queryExamples, body: bodyExample });
  const call = `await client.request('${operationId}', ${request})`;
  return success.schema ? `const { data } = ${call};\nconsole.log(data);` : `${call};`;
}

/** Writes a value as TypeScript: names without quotes, single quotes, and lists of strings on one line. */
function literal(value: unknown): string {
  return JSON.stringify(value, null, 2)
    .replace(/^(\s*)"(\w+)":/gm, '$1$2:')
    .replaceAll("'", "\\'")
    .replaceAll('"', "'")
    .replace(/\[\s+('[^[\]{}]*')\s+\]/g, (_match, elements: string) => `[${elements.replace(/\s+/g, ' ')}]`);
}
