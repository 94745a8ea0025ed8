// Checks responses and events against openapi.json. The status of a response must be documented, the documented headers
// must be present, and the body must match its schema.
import { readFileSync } from 'node:fs';
import { isDateTime } from '@bay-booking/common/date-times';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Response } from 'supertest';

interface DocumentedResponse {
  readonly headers?: object;
  readonly content?: { readonly 'application/json'?: { readonly schema: object }; readonly 'text/csv'?: object };
}

interface Operation {
  readonly responses: Readonly<Record<string, DocumentedResponse | { readonly $ref: string }>>;
}

const document = JSON.parse(readFileSync(`${import.meta.dirname}/../../openapi.json`, 'utf8')) as {
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, DocumentedResponse> };
};
const componentPrefix = '#/components/responses/';
const ajv = new Ajv2020({ strict: false, allErrors: true });
// Requests may use other forms of date-times. Responses always have milliseconds and Z.
ajv.addFormat('date-time', (text) => isDateTime(text) && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text));
// The service creates UUIDs of version 7.
ajv.addFormat('uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
ajv.addFormat('uri', URL.canParse);
ajv.addFormat('date', /^\d{4}-\d\d-\d\d$/);
ajv.addSchema(withoutUnknownFields(document) as object, 'openapi');
const validators = new Map<string, ValidateFunction>();

const templates = Object.keys(document.paths).map((template) => ({
  template,
  pattern: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}/?$`),
}));

/** @throws {Error} if the document describes the operation, but not this response */
export function checkResponse(method: string, url: string, response: Response): void {
  const path = url.split('?')[0] as string;
  const template = templates.find(({ pattern }) => pattern.test(path))?.template;
  // Tests also request paths and methods that do not exist. Their error responses are not in the document.
  if (!template) return;
  const documentedMethod = method === 'HEAD' ? 'get' : method.toLowerCase();
  if (!document.paths[template]?.[documentedMethod]) return;
  const label = `${method} ${template} ${response.status}`;
  const { documented, pointer } = documentedResponse(template, documentedMethod, response.status);
  if (!documented) throw new Error(`${label} is not in the document`);
  for (const name of Object.keys(documented.headers ?? {})) {
    // A response has no Link header if the header would be too long, and no Preference-Applied header if the request
    // has no preference.
    if (name === 'Link' || name === 'Preference-Applied' || response.headers[name.toLowerCase()] !== undefined)
      continue;
    throw new Error(`${label} lacks the header ${name}`);
  }
  if (documented.content?.['text/csv'] && response.headers['content-type'] === 'text/csv; charset=utf-8') return;
  const schema = documented.content?.['application/json']?.schema;
  if (!schema || method === 'HEAD') {
    if (response.text) throw new Error(`${label} has a body`);
    return;
  }
  if (response.headers['content-type'] !== 'application/json; charset=utf-8') {
    throw new Error(`${label} has the content type ${response.headers['content-type']}`);
  }
  let validate = validators.get(pointer);
  if (!validate) {
    validate = ajv.compile({ $ref: `openapi${pointer}/content/application~1json/schema` });
    validators.set(pointer, validate);
  }
  if (!validate(response.body)) throw new Error(`${label}: ${ajv.errorsText(validate.errors)} in ${response.text}`);
}

/** @throws {Error} if the document does not describe the event, which a webhook has sent */
export function checkEvent(event: { readonly type: string }): void {
  const schema = `openapi#/webhooks/${event.type}/post/requestBody/content/application~1json/schema`;
  if (!ajv.validate({ $ref: schema }, event)) throw new Error(`${event.type}: ${ajv.errorsText()}`);
}

/** Finds the description of a response in the document, and its JSON pointer. Follows a reference to a component. */
function documentedResponse(template: string, method: string, status: number) {
  const documented = document.paths[template]?.[method]?.responses[status];
  if (documented && '$ref' in documented) {
    const name = documented.$ref.slice(componentPrefix.length);
    return { documented: document.components.responses[name], pointer: documented.$ref };
  }
  return { documented, pointer: `#/paths/${encodePointer(template)}/${method}/responses/${status}` };
}

function encodePointer(path: string): string {
  return encodeURIComponent(path.replaceAll('~', '~0').replaceAll('/', '~1'));
}

/**
 * Changes all schemas so that objects must not have unknown fields, except `contextData`. Clients must accept new
 * fields, so the document allows them. These tests check that responses have only the documented fields.
 */
function withoutUnknownFields(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(withoutUnknownFields);
  const closed = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, name === 'contextData' ? value : withoutUnknownFields(value)]),
  );
  const isOpen = closed.type === 'object' && closed.additionalProperties === undefined;
  return isOpen ? { ...closed, additionalProperties: false } : closed;
}
