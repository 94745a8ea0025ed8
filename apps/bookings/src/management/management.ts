// Connects the parts of the management API (docs/behaviour.md, "Management API").
import type { Logger } from '@bay-booking/service/logging';
import type { Scopes } from '../auth/scopes.ts';
import { createImportEndpoints } from './import-endpoints.ts';
import { createManagementDocument } from './openapi.ts';
import { createPlaceEndpoints, type ManagementServices } from './place-endpoints.ts';
import { createActivity } from './store.ts';

export function createManagement(services: ManagementServices & { readonly logger: Logger }) {
  const { db, logger, config } = services;
  const { baseUrl, authIssuer, scopeBase } = config;
  const endpoints = [...createPlaceEndpoints(services), ...createImportEndpoints(services)];
  const scope = `${scopeBase}/operate/bookings`;
  const scopes: Scopes = { read: scope, write: scope, schedule: scope };
  return {
    endpoints,
    scopes,
    document: createManagementDocument({ endpoints, baseUrl, authIssuer, scope }),
    noteRequest: createActivity(db, logger),
  };
}
