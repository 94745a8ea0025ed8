// Creates the pages outside of oidc-provider: sign-in, consent, devices, "Your account" and the portal.
import { Router } from 'express';
import { accountDataRoutes } from './account-pages/data-routes.ts';
import { accountRoutes } from './account-pages/routes.ts';
import { securityRoutes } from './account-pages/security-pages.ts';
import { addAssetRoutes } from './html/asset.ts';
import { devicePages } from './interaction/device/device-pages.ts';
import { createProviderPages } from './interaction/provider-pages.ts';
import { interactionRoutes } from './interaction/routes.ts';
import { secondFactorRoutes } from './interaction/second-factor-pages.ts';
import { directSignInRoutes } from './interaction/sign-in/direct-sign-in-routes.ts';
import { emailVerificationRoutes } from './interaction/sign-in/email-verification-routes.ts';
import { passwordResetRoutes } from './interaction/sign-in/password-reset-routes.ts';
import { createSignInPages } from './interaction/sign-in/sign-in-pages.ts';
import { createSocialRoutes } from './interaction/sign-in/social-routes.ts';
import { createPortal } from './portal/portal.ts';
import { createPageServices, type PageDependencies } from './services.ts';

export function createPages(options: PageDependencies) {
  const services = createPageServices(options);
  const signInPages = createSignInPages(services);
  const social = createSocialRoutes(services);
  const router = addAssetRoutes(Router()).use(
    social.router,
    interactionRoutes(services, signInPages),
    devicePages(services),
    secondFactorRoutes(services),
    directSignInRoutes(services, signInPages),
    passwordResetRoutes(services),
    emailVerificationRoutes(services),
    accountRoutes(services, social.begin),
    accountDataRoutes(services),
    securityRoutes(services),
    createPortal(services),
    services.site.errorHandler,
  );
  return { router, providerPages: createProviderPages(services.site.findLayoutUser) };
}
