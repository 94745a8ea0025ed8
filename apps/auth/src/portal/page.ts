// Provides what all pages of the portal need: the layout, the access checks, and forms that keep their input if the
// user must sign in first.
import { isText } from '@bay-booking/common/text';
import { type Request, type Response, Router } from 'express';
import type { Actor } from '../clients/personal-access-token-store.ts';
import { roleNames } from '../facilities/roles.ts';
import { errorMessages } from '../html/error-page.ts';
import { fields } from '../html/forms.ts';
import { missingFactorPath, signInPath } from '../html/local-path.ts';
import type { PageLink } from '../html/render.ts';
import { hasTwoFactors, type SignedIn } from '../html/signed-in.ts';
import type { ConfirmationPage, FormOptions, Page, SignedInHandler } from '../html/site.ts';
import type { PageServices } from '../services.ts';
import type { FacilityOfAccount } from './members/member-store.ts';
import { isManaging, type ManagingRole } from './rules.ts';

export interface ManagedFacility extends FacilityOfAccount {
  /** The role of the signed-in user. */
  readonly role: ManagingRole;
  readonly path: string;
}

export interface ManagerContext {
  readonly signedIn: SignedIn;
  readonly facility: ManagedFacility;
}

/** `Subject` is what the handler needs besides the facility, such as one of its members. */
export type ManagerHandler<Subject = object> = (
  request: Request,
  response: Response,
  context: ManagerContext & Subject,
) => Promise<void> | void;

/** `/portal` shows service accounts their personal access tokens. */
export const tokensBreadcrumb: PageLink = { href: '/portal', text: 'Personal access tokens' };

export const facilityPath = (id: string): string => `/portal/facilities/${encodeURIComponent(id)}`;

/** A user with only one facility has no list of facilities. */
export const breadcrumbsOfFacilityPage = ({ hasOtherFacilities }: ManagedFacility): readonly PageLink[] =>
  hasOtherFacilities ? [{ href: '/portal', text: 'Your facilities' }] : [];

export const breadcrumbsBelowFacility = (facility: ManagedFacility): readonly PageLink[] => [
  ...breadcrumbsOfFacilityPage(facility),
  { href: facility.path, text: facility.name },
];

/** The time zone of the facilities. Undefined if they have several: then times are shown as elsewhere. */
export function timeZoneOf(facilities: readonly Pick<FacilityOfAccount, 'timeZone'>[]): string | undefined {
  const zones = new Set(facilities.map(({ timeZone }) => timeZone));
  return zones.size === 1 ? [...zones][0] : undefined;
}

/** The notice for a user who has just accepted an invitation. */
export const welcomeNotice = ({ name, role }: Pick<FacilityOfAccount, 'name' | 'role'>): string =>
  `Welcome to ${name}. Your role is ${roleNames[role]}.`;

/** Reads an id from the route. Returns the empty string, which is not an id, for a string that cannot be an id. */
export function idParameter(request: Request, name: string): string {
  const value = String(request.params[name] ?? '');
  return isText(value) ? value : '';
}

export const actorOf = (request: Request, signedIn: SignedIn): Actor => ({
  accountId: signedIn.account.id,
  address: request.ip,
});

/** Each restored value is cut off after this number of characters, and a longer list of values is left out. */
const maxRestoredLength = 300;
const maxRestoredListLength = 600;

/** Adds the values of a form to the query of `path`, so that they are not lost if the user must sign in first. */
export function withInput(path: string, request: Request, names: readonly string[]): string {
  const query = new URLSearchParams();
  for (const name of names) {
    const values = fields(request, name).filter((value) => value !== '');
    if (values.join('').length > maxRestoredListLength) continue;
    for (const value of values) query.append(name, value.trim().slice(0, maxRestoredLength));
  }
  return query.size > 0 ? `${path}?${query}` : path;
}

const portalLinks = [{ href: '/portal', text: 'Go to the portal' }];

/** The tabs of the pages of a facility. `path` is relative to the page of the facility. */
const facilityTabs = [
  { path: '', text: 'People' },
  { path: '/history', text: 'History' },
  { path: '/tokens', text: 'Tokens' },
];

type ConfirmOptions = Omit<ConfirmationPage, 'cancel'> & Partial<Pick<ConfirmationPage, 'cancel'>>;

export type PortalPages = ReturnType<typeof createPortalPages>;
export type PortalServices = PageServices & { readonly pages: PortalPages };

export function createPortalPages({ config, site, members, factors }: PageServices) {
  const show = (response: Response, template: string, data: object, page: Page): Promise<void> =>
    site.show(
      response,
      `/portal/views/${template}`,
      { ...data, facilityTabs, daySheetUrl: config.daySheetUrl },
      { script: true, ...page },
    );

  /** Also shown for records of other facilities and accounts, so that users cannot find out whether they exist. */
  const notFound = (response: Response): Promise<void> =>
    site.showMessage(response, { ...errorMessages.notFound, status: 404, links: portalLinks });

  /** `text` says which role is needed. */
  const notPermitted = (response: Response, text: string): Promise<void> =>
    site.showMessage(response, { status: 403, title: 'Your role does not allow this', text, links: portalLinks });

  const showDisabled = (response: Response, name: string): Promise<void> =>
    site.showMessage(response, {
      status: 403,
      title: `${name} is disabled`,
      text: 'The operator of the service disabled this facility. Ask the operator to enable it again.',
      links: [{ href: '/account', text: 'Your account' }],
    });

  /** Returns true if the user has been redirected to prove or set up the second factor that a facility requires. */
  const asksForFactor = async (
    request: Request,
    response: Response,
    signedIn: SignedIn,
    returnTo = request.originalUrl,
  ): Promise<boolean> => {
    const isSetUp = await factors.hasSecondFactor(signedIn.account.id);
    if (!isSetUp || !hasTwoFactors(signedIn)) response.redirect(303, missingFactorPath(returnTo, isSetUp));
    else if (request.method === 'POST' && !signedIn.isFresh)
      response.redirect(303, signInPath(returnTo, { again: true }));
    else return false;
    return true;
  };

  const asManager =
    (handler: ManagerHandler, returnTo?: FormOptions['returnTo']): SignedInHandler =>
    async (request, response, signedIn) => {
      const facility = await members.findFacility(signedIn.account.id, idParameter(request, 'facilityId'));
      if (!facility || !isManaging(facility.role)) return notFound(response);
      if (facility.isDisabled) return showDisabled(response, facility.name);
      if (facility.requiresSecondFactor && (await asksForFactor(request, response, signedIn, returnTo?.(request))))
        return;
      // TypeScript narrows the type of the constant `role`, but not the type of the whole `facility`.
      const { role } = facility;
      return handler(request, response, { signedIn, facility: { ...facility, role, path: facilityPath(facility.id) } });
    };

  const asServiceAccount =
    (handler: SignedInHandler, returnTo?: FormOptions['returnTo']): SignedInHandler =>
    async (request, response, signedIn) => {
      const { account } = signedIn;
      if (account.kind !== 'service') return notFound(response);
      const mustProve = await factors.isRequired(account.id);
      if (mustProve && (await asksForFactor(request, response, signedIn, returnTo?.(request)))) return;
      return handler(request, response, signedIn);
    };

  const forManager = (handler: ManagerHandler) => site.forSignedIn(asManager(handler));

  /** A user who must sign in first returns to the page of the facility, with the values of `fields`. */
  const formForManager = (handler: ManagerHandler, fields: readonly string[] = []) => {
    const returnTo = (request: Request): string =>
      withInput(facilityPath(idParameter(request, 'facilityId')), request, fields);
    return site.formForSignedIn(asManager(handler, returnTo), { returnTo });
  };

  return {
    show,
    notFound,
    notPermitted,
    /** For owners and staff of the facility in the path. */
    forManager,
    forServiceAccount: (handler: SignedInHandler) => site.forSignedIn(asServiceAccount(handler)),
    formForManager,
    /** The page at `path` asks before a change, and its form makes it. */
    confirmationForManager: (path: string, ask: ManagerHandler, change: ManagerHandler): Router =>
      Router()
        .get(path, forManager(ask))
        .post(path, ...formForManager(change)),
    /** Shows the template in portal/views, whose button changes something at the facility. */
    confirm: (response: Response, facility: ManagedFacility, template: string, data: object, page: ConfirmOptions) =>
      site.showConfirmation(
        response,
        `/portal/views/${template}`,
        { facility, ...data },
        { cancel: facility.path, breadcrumbs: breadcrumbsBelowFacility(facility), ...page },
      ),
    asServiceAccount,
    formForServiceAccount: (handler: SignedInHandler, options: FormOptions) =>
      site.formForSignedIn(asServiceAccount(handler, options.returnTo), options),
  };
}
