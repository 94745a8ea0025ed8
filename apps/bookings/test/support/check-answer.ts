// Is an answer one that the OpenAPI document promises? Status known, headers there, body valid by the schema of that very status.
import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Response } from 'supertest';
import { isDateTime } from '../../src/bookings/date-times.ts';

interface Operation {
  readonly responses: Readonly<
    Record<string, { headers?: object; content?: { 'application/json'?: { schema: object } } }>
  >;
}

const document = JSON.parse(readFileSync(`${import.meta.dirname}/../../openapi.json`, 'utf8')) as {
  paths: Record<string, Record<string, Operation>>;
};
const ajv = new Ajv2020({ strict: false, allErrors: true });
// Answers carry milliseconds and Z, always.
ajv.addFormat('date-time', (text) => isDateTime(text) && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text));
ajv.addFormat('uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
ajv.addFormat('uri', URL.canParse);
ajv.addSchema(document, 'openapi');
const compiled = new Map<string, ValidateFunction>();

const templates = Object.keys(document.paths).map((path) => ({
  path,
  form: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}/?$`),
}));

export function checkAnswer(method: string, url: string, response: Response): void {
  const path = url.split('?')[0] as string;
  const template = templates.find(({ form }) => form.test(path))?.path;
  if (!template) return;
  const known = method === 'HEAD' ? 'get' : method.toLowerCase();
  const operation = document.paths[template]?.[known];
  if (!operation) return;
  const where = `${method} ${template} ${response.status}`;
  const described = operation.responses[response.status];
  if (!described) throw new Error(`${where} is not in the document`);
  for (const name of Object.keys(described.headers ?? {})) {
    if (name === 'Link' || response.headers[name.toLowerCase()] !== undefined) continue;
    throw new Error(`${where} lacks the header ${name}`);
  }
  const schema = described.content?.['application/json']?.schema;
  if (!schema || method === 'HEAD') {
    if (response.text) throw new Error(`${where} has a body`);
    return;
  }
  if (response.headers['content-type'] !== 'application/json; charset=utf-8') {
    throw new Error(`${where} is ${response.headers['content-type']}`);
  }
  const pointer = `openapi#/paths/${escaped(template)}/${known}/responses/${response.status}/content/application~1json/schema`;
  let check = compiled.get(pointer);
  if (!check) {
    check = ajv.compile({ $ref: pointer });
    compiled.set(pointer, check);
  }
  if (!check(response.body)) throw new Error(`${where}: ${ajv.errorsText(check.errors)} in ${response.text}`);
}

function escaped(path: string): string {
  return encodeURIComponent(path.replaceAll('~', '~0').replaceAll('/', '~1'));
}
