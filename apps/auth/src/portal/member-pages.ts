// Changing and revoking a role, each after a page that says what it breaks. The last owner stays.
import { type Request, type Response, Router } from 'express';
import type { Audit } from '../audit/audit.ts';
import { field } from '../html/form-body.ts';
import type { EndedInvitation, PeopleStore, Person } from './member-store.ts';
import { facilityCrumbs, facilityPath, idOf, type ManagerHandler, type PortalPages } from './page.ts';
import { mayRevoke, rolesToGive, roleWords } from './rules.ts';

export interface MemberPagesOptions {
  readonly pages: PortalPages;
  readonly people: PeopleStore;
  readonly accessTokenTtl: number;
  readonly audit: Audit;
}

type Who = Parameters<ManagerHandler>[2] & { person: Person; self: boolean };

const nameOf = ({ name, username }: Person): string => name ?? username;

export function memberRoutes({ pages, people, accessTokenTtl, audit }: MemberPagesOptions): Router {
  const withPerson =
    (handler: (request: Request, response: Response, who: Who) => Promise<void>): ManagerHandler =>
    async (request, response, who) => {
      const person = await people.find(who.facility.id, idOf(request, 'accountId'));
      if (!person) return pages.notFound(request, response);
      return handler(request, response, { ...who, person, self: person.accountId === who.signedIn.account.id });
    };

  const refuse = (
    request: Request,
    response: Response,
    { facility, self }: Who,
    why: 'gone' | 'not-permitted' | 'last-owner',
  ): Promise<void> => {
    if (why === 'gone') return pages.notFound(request, response);
    if (why === 'not-permitted') {
      return pages.notPermitted(
        request,
        response,
        'Staff revoke service accounts; the roles of people are the owners’ to change.',
      );
    }
    return pages.showMessage(request, response, {
      status: 409,
      title: 'A facility keeps an owner',
      text: `${self ? 'You are' : 'This is'} the last owner of ${facility.name}. Make somebody else an owner first.`,
      tone: 'bad',
      links: [{ href: facility.path, text: `Back to ${facility.name}` }],
    });
  };

  const note = (
    request: Request,
    { facility, signedIn }: Who,
    kind: string,
    detail: Record<string, string | boolean>,
    ended: readonly EndedInvitation[],
  ): void => {
    const event = { accountId: signedIn.account.id, address: request.ip, facilityId: facility.id };
    for (const { id, email, role } of ended) {
      audit.record({ kind: 'invitation.withdrawn', ...event, detail: { email, role, invitation: id } });
    }
    audit.record({ kind, ...event, detail });
  };

  const path = '/portal/facilities/:facilityId/people/:accountId';
  const kept = { back: (request: Request) => facilityPath(idOf(request, 'facilityId')) };
  const router = Router();

  router.get(
    `${path}/role`,
    pages.forManager(
      withPerson((request, response, who) => {
        const { facility, person, self } = who;
        const roles = rolesToGive(facility.role, person.kind, person.role);
        if (roles.length === 0) return refuse(request, response, who, 'not-permitted');
        return pages.show(
          request,
          response,
          'role',
          {
            facility,
            self,
            name: nameOf(person),
            now: roleWords[person.role],
            roles: roles.map((role) => ({ role, words: roleWords[role] })),
            action: request.path,
          },
          { title: `Change the role of ${nameOf(person)}`, crumbs: facilityCrumbs(facility) },
        );
      }),
    ),
  );
  router.post(
    `${path}/role`,
    ...pages.formForManager(
      withPerson(async (request, response, who) => {
        const { facility, person, signedIn } = who;
        const role = rolesToGive(facility.role, person.kind, person.role).find(
          (name) => name === field(request, 'role'),
        );
        if (!role) return refuse(request, response, who, 'not-permitted');
        const outcome = await people.changeRole(facility.id, person.accountId, role, signedIn.account.id);
        if ('refused' in outcome) return refuse(request, response, who, outcome.refused);
        const detail = { account: person.accountId, name: nameOf(person), from: outcome.changed.role, to: role };
        note(request, who, 'membership.role-changed', detail, outcome.ended);
        response.redirect(303, `${facility.path}?notice=role-changed`);
      }),
      kept,
    ),
  );

  router.get(
    `${path}/revoke`,
    pages.forManager(
      withPerson((request, response, who) => {
        const { facility, person, self } = who;
        if (!mayRevoke(facility.role, person.role, self)) return refuse(request, response, who, 'not-permitted');
        return pages.show(
          request,
          response,
          'revoke',
          {
            facility,
            person,
            self,
            name: nameOf(person),
            role: roleWords[person.role],
            accessTokenTtl,
            action: request.path,
          },
          {
            title: self ? `Leave ${facility.name}?` : `Revoke the role of ${nameOf(person)}?`,
            crumbs: facilityCrumbs(facility),
          },
        );
      }),
    ),
  );
  router.post(
    `${path}/revoke`,
    ...pages.formForManager(
      withPerson(async (request, response, who) => {
        const { facility, person, self, signedIn } = who;
        const outcome = await people.revoke(facility.id, person.accountId, signedIn.account.id);
        if ('refused' in outcome) return refuse(request, response, who, outcome.refused);
        const detail = { account: person.accountId, name: nameOf(person), role: outcome.changed.role, self };
        note(request, who, 'membership.revoked', detail, outcome.ended);
        response.redirect(303, self ? '/portal' : `${facility.path}?notice=revoked`);
      }),
      kept,
    ),
  );
  return router;
}
