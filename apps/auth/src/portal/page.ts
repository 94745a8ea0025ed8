// What do the portal's pages share? Who may see them, what a refusal looks like (a facility that is not yours is not there), and forms
// that lose nothing when somebody must sign in again first.
import type { Request, RequestHandler, Response } from 'express';
import { field, readForm } from '../html/form-body.ts';
import { signInAndBack } from '../html/local-path.ts';
import type { MessagePage, SignedInHandler, Site } from '../html/site.ts';
import type { BrowserSessions, SignedIn } from '../interaction/browser-session.ts';
import { readableAddress } from './address.ts';
import { portalAssets } from './assets.ts';
import type { FacilityOfMine, PeopleStore } from './member-store.ts';
import { managesPeople } from './rules.ts';
import { instant, span } from './time-format.ts';

export interface Crumb {
  readonly href: string;
  readonly text: string;
}

export interface PortalPage {
  readonly title: string;
  readonly status?: number;
  readonly crumbs?: readonly Crumb[];
  readonly width?: 'narrow' | 'wide';
  readonly csrfContext?: string;
  readonly notice?: string | undefined;
}

/** The facility, with a role of those that see its people. */
export interface ManagedFacility extends FacilityOfMine {
  readonly role: 'owner' | 'staff';
  readonly path: string;
}

export type ManagerHandler = (
  request: Request,
  response: Response,
  who: { signedIn: SignedIn; facility: ManagedFacility },
) => Promise<void> | void;

export const tokensCrumb: Crumb = { href: '/portal', text: 'Personal access tokens' };
export const facilityPath = (id: string): string => `/portal/facilities/${encodeURIComponent(id)}`;
/** Above a facility's own page: the list, for whoever has several. */
export const facilitiesCrumb = ({ ofSeveral }: ManagedFacility): readonly Crumb[] =>
  ofSeveral ? [{ href: '/portal', text: 'Your facilities' }] : [];
export const facilityCrumbs = (facility: ManagedFacility): readonly Crumb[] => [
  ...facilitiesCrumb(facility),
  { href: facility.path, text: facility.name },
];

/** An id of the address. What cannot be one is the id of nothing. */
export function idOf(request: Request, name: string): string {
  const value = String(request.params[name] ?? '');
  return value.length > 256 || /\p{Cc}/u.test(value) ? '' : value;
}

export interface PortalPagesOptions {
  readonly site: Site;
  readonly sessions: BrowserSessions;
  readonly people: Pick<PeopleStore, 'facilityFor'>;
}

export type PortalPages = ReturnType<typeof createPortalPages>;

export function createPortalPages({ site, sessions, people }: PortalPagesOptions) {
  const show = (request: Request, response: Response, view: string, data: object, page: PortalPage): Promise<void> =>
    site.show(
      request,
      response,
      `/portal/views/${view}`,
      {
        ...data,
        crumbs: page.crumbs ?? [],
        notice: page.notice,
        portalAssets,
        instant,
        span,
        readableAddress,
      },
      {
        title: page.title,
        script: true,
        width: page.width ?? 'narrow',
        ...(page.status !== undefined && { status: page.status }),
        ...(page.csrfContext !== undefined && { csrfContext: page.csrfContext }),
      },
    );

  const showMessage = (request: Request, response: Response, message: MessagePage): Promise<void> =>
    site.showMessage(request, response, message);

  const notFound = (request: Request, response: Response): Promise<void> =>
    showMessage(request, response, {
      status: 404,
      title: 'There is nothing here for you',
      text: 'The page does not exist, or it belongs to a facility or an account that is not yours.',
      tone: 'bad',
      links: [{ href: '/portal', text: 'To the portal' }],
    });

  const notPermitted = (request: Request, response: Response, text: string): Promise<void> =>
    showMessage(request, response, {
      status: 403,
      title: 'Your role does not allow this',
      text,
      tone: 'bad',
      links: [{ href: '/portal', text: 'To the portal' }],
    });

  const asManager =
    (handler: ManagerHandler): SignedInHandler =>
    async (request, response, signedIn) => {
      const facility = await people.facilityFor(signedIn.account.id, idOf(request, 'facilityId'));
      if (!facility || !managesPeople(facility.role)) return notFound(request, response);
      const { role } = facility;
      return handler(request, response, { signedIn, facility: { ...facility, role, path: facilityPath(facility.id) } });
    };

  const asServiceAccount =
    (handler: SignedInHandler): SignedInHandler =>
    (request, response, signedIn) =>
      signedIn.account.kind === 'service' ? handler(request, response, signedIn) : notFound(request, response);

  /** Whoever must sign in (again) first comes back to the form with what was typed. */
  const keepTyped =
    (back: (request: Request) => string, names: readonly string[], fresh: boolean): RequestHandler =>
    async (request, response, next) => {
      const signedIn = await sessions.current(request, response);
      if (signedIn && !signedIn.idle && (!fresh || signedIn.fresh)) return next();
      const typed = new URLSearchParams();
      for (const name of names) if (field(request, name)) typed.set(name, field(request, name).slice(0, 300));
      const query = typed.size > 0 ? `?${typed}` : '';
      response.redirect(303, signInAndBack(`${back(request)}${query}`, signedIn !== undefined));
    };

  interface KeptForm {
    /** The page of the form, which reads the fields from its query. */
    readonly back: (request: Request) => string;
    readonly fields?: readonly string[];
    readonly fresh?: boolean;
  }

  const form = (handler: SignedInHandler, { back, fields = [], fresh = false }: KeptForm): RequestHandler[] => [
    readForm,
    keepTyped(back, fields, fresh),
    ...site.formForSignedIn(handler),
  ];

  return {
    show,
    showMessage,
    notFound,
    notPermitted,
    forSignedIn: (handler: SignedInHandler): RequestHandler => site.forSignedIn(handler),
    forManager: (handler: ManagerHandler): RequestHandler => site.forSignedIn(asManager(handler)),
    forServiceAccount: (handler: SignedInHandler): RequestHandler => site.forSignedIn(asServiceAccount(handler)),
    formForManager: (handler: ManagerHandler, kept: KeptForm): RequestHandler[] => form(asManager(handler), kept),
    formForServiceAccount: (handler: SignedInHandler, kept: KeptForm): RequestHandler[] =>
      form(asServiceAccount(handler), kept),
  };
}
