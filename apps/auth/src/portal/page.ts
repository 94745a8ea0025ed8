// Provides what all pages of the portal need: the layout, the access checks, and forms that keep their input if the
// user must sign in first.
import type { Request, RequestHandler, Response } from 'express';
import { hasControlCharacter } from '../accounts/field-rules.ts';
import type { Actor } from '../clients/store.ts';
import { roleNames } from '../facilities/role-names.ts';
import { errorMessages } from '../html/error-messages.ts';
import { field, readForm } from '../html/form-body.ts';
import { signInPath } from '../html/local-path.ts';
import type { FindSignedIn, SignedIn } from '../html/signed-in.ts';
import type { Page, SignedInHandler, Site } from '../html/site.ts';
import { portalAssets } from './assets.ts';
import type { FacilityOfAccount, MemberStore } from './members/member-store.ts';
import { isManaging, type ManagingRole } from './rules.ts';

export interface Breadcrumb {
  readonly href: string;
  readonly text: string;
}

export interface PortalPage extends Page {
  readonly breadcrumbs?: readonly Breadcrumb[];
  /** A text that confirms a successful change. */
  readonly notice?: string | undefined;
}

export interface ManagedFacility extends FacilityOfAccount {
  /** The role of the signed-in user. */
  readonly role: ManagingRole;
  readonly path: string;
}

export interface ManagerContext {
  readonly signedIn: SignedIn;
  readonly facility: ManagedFacility;
}

export type ManagerHandler = (request: Request, response: Response, context: ManagerContext) => Promise<void> | void;

/** `/portal` shows service accounts their personal access tokens. */
export const tokensBreadcrumb: Breadcrumb = { href: '/portal', text: 'Personal access tokens' };

export const facilityPath = (id: string): string => `/portal/facilities/${encodeURIComponent(id)}`;

/** A user with only one facility has no list of facilities. */
export const breadcrumbsOfFacilityPage = ({ hasOtherFacilities }: ManagedFacility): readonly Breadcrumb[] =>
  hasOtherFacilities ? [{ href: '/portal', text: 'Your facilities' }] : [];

export const breadcrumbsBelowFacility = (facility: ManagedFacility): readonly Breadcrumb[] => [
  ...breadcrumbsOfFacilityPage(facility),
  { href: facility.path, text: facility.name },
];

/** The notice for a user who has just accepted an invitation. */
export const welcomeNotice = ({ name, role }: Pick<FacilityOfAccount, 'name' | 'role'>): string =>
  `Welcome to ${name}. Your role is ${roleNames[role]}.`;

/** The maximum length of an id in an import file. */
const maxIdLength = 256;

/** Reads an id from the route. Returns the empty string, which is no id, for a text that cannot be an id. */
export function idParameter(request: Request, name: string): string {
  const value = String(request.params[name] ?? '');
  return value.length > maxIdLength || hasControlCharacter(value) ? '' : value;
}

export const actorOf = (request: Request, signedIn: SignedIn): Actor => ({
  accountId: signedIn.account.id,
  address: request.ip,
});

/** What happens if the user who submits a form must sign in (again) first. */
export interface RestorableForm {
  /** Returns the path of the page with the form, to which the user returns. */
  readonly returnTo: (request: Request) => string;
  /** The fields whose values the query string of this path gets. */
  readonly fields?: readonly string[];
  /** Whether the form requires a recent sign-in. */
  readonly requireFresh?: boolean;
}

/** Each restored value is cut off after this number of characters. */
const maxRestoredLength = 300;

const portalLinks = [{ href: '/portal', text: 'Go to the portal' }];

export interface PortalPagesOptions {
  readonly site: Site;
  readonly findSignedIn: FindSignedIn;
  readonly members: Pick<MemberStore, 'findFacility'>;
}

/** The tabs of the pages of a facility. `path` is relative to the page of the facility. */
const facilityTabs = [
  { path: '', text: 'People' },
  { path: '/history', text: 'History' },
];

export type PortalPages = ReturnType<typeof createPortalPages>;

export function createPortalPages({ site, findSignedIn, members }: PortalPagesOptions) {
  const show = (
    response: Response,
    template: string,
    data: object,
    { breadcrumbs = [], notice, ...page }: PortalPage,
  ): Promise<void> =>
    site.show(
      response,
      `/portal/views/${template}`,
      { ...data, breadcrumbs, notice, facilityTabs, portalAssets },
      { script: true, ...page },
    );

  /** Also shown for records of other facilities and accounts, so that users cannot find out whether they exist. */
  const notFound = (response: Response): Promise<void> =>
    site.showMessage(response, { ...errorMessages.notFound, status: 404, tone: 'bad', links: portalLinks });

  /** `text` says which role is needed. */
  const notPermitted = (response: Response, text: string): Promise<void> =>
    site.showMessage(response, {
      status: 403,
      title: 'Your role does not allow this',
      text,
      tone: 'bad',
      links: portalLinks,
    });

  const asManager =
    (handler: ManagerHandler): SignedInHandler =>
    async (request, response, signedIn) => {
      const facility = await members.findFacility(signedIn.account.id, idParameter(request, 'facilityId'));
      if (!facility || !isManaging(facility.role)) return notFound(response);
      // TypeScript narrows the type of the constant `role`, but not the type of the whole `facility`.
      const { role } = facility;
      return handler(request, response, { signedIn, facility: { ...facility, role, path: facilityPath(facility.id) } });
    };

  const asServiceAccount =
    (handler: SignedInHandler): SignedInHandler =>
    (request, response, signedIn) =>
      signedIn.account.kind === 'service' ? handler(request, response, signedIn) : notFound(response);

  const restoreAfterSignIn =
    ({ returnTo, fields = [], requireFresh = false }: RestorableForm): RequestHandler =>
    async (request, response, next) => {
      const signedIn = await findSignedIn(request, response);
      const needsSignIn = !signedIn || signedIn.isIdle || (requireFresh && !signedIn.isFresh);
      if (!needsSignIn) return next();
      const input = new URLSearchParams();
      for (const name of fields)
        if (field(request, name)) input.set(name, field(request, name).slice(0, maxRestoredLength));
      const query = input.size > 0 ? `?${input}` : '';
      response.redirect(303, signInPath(`${returnTo(request)}${query}`, { again: signedIn !== undefined }));
    };

  const form = (handler: SignedInHandler, restorable: RestorableForm): RequestHandler[] => [
    readForm,
    restoreAfterSignIn(restorable),
    ...site.formForSignedIn(handler),
  ];

  return {
    show,
    showMessage: site.showMessage,
    notFound,
    notPermitted,
    forSignedIn: site.forSignedIn,
    /** For owners and staff of the facility in the path. */
    forManager: (handler: ManagerHandler) => site.forSignedIn(asManager(handler)),
    forServiceAccount: (handler: SignedInHandler) => site.forSignedIn(asServiceAccount(handler)),
    /** A user who must sign in first returns to the page of the facility. */
    formForManager: (handler: ManagerHandler, fields: readonly string[] = []) =>
      form(asManager(handler), {
        returnTo: (request) => facilityPath(idParameter(request, 'facilityId')),
        fields,
      }),
    formForServiceAccount: (handler: SignedInHandler, restorable: RestorableForm) =>
      form(asServiceAccount(handler), restorable),
  };
}
