// Connects the parts of the management API (docs/behaviour.md, "Management API").
import type { Router } from 'express';
import { createClientValidator } from '../oidc/clients/validation.ts';
import type { ProviderManager } from '../oidc/provider-manager.ts';
import type { Services } from '../services.ts';
import { actionEndpoints } from './action-endpoints.ts';
import { createAuthorize } from './authorize.ts';
import { createMakeChange } from './changes.ts';
import { importEndpoints } from './import-endpoints.ts';
import { managementDocument } from './openapi.ts';
import { resourceEndpoints } from './resource-endpoints.ts';
import { managementRouter } from './router.ts';

export async function createManagement(services: Services, providerManager: ProviderManager): Promise<Router> {
  const { issuer, isDevelopment, outboundAllowNetworks: allowNetworks } = services.config;
  const context = {
    services,
    clientValidator: await createClientValidator({ issuer, isDevelopment, allowNetworks }),
    makeChange: createMakeChange(services),
  };
  const endpoints = [...resourceEndpoints(context), ...actionEndpoints(context), ...importEndpoints(context)];
  const document = managementDocument({ endpoints, issuer, scope: services.scopes.operateAuth });
  return managementRouter(endpoints, createAuthorize(services, providerManager), document);
}
