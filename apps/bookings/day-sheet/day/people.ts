// Says who made a change: a person by name, a program by the names of its token and its account.
import type { BookingHistory, FacilityPeople } from '@bay-booking/client';

type Actor = BookingHistory['items'][number]['actor'];

const noName = '(name not available)';

/**
 * Returns a name and, if there is more to say, a text for brackets behind it. `people` is undefined if the names cannot
 * be read. `own` is the user with the client of the page.
 */
export function describeActor({ clientId, subject }: Actor, people: FacilityPeople | undefined, own?: Actor): string[] {
  if (!clientId) return ['the service itself'];
  const client = people?.clients.find((one) => one.clientId === clientId);
  const account = people?.people.find((one) => one.subject === (client?.subject ?? subject))?.name;
  if (own && subject === own.subject) return account ? [account, 'you'] : ['you'];
  if (client?.subject || (!account && client && (!subject || subject === clientId)))
    return [client.name, ...(account ? [account] : [])];
  if (subject && subject !== clientId)
    return [account ?? `somebody ${noName}`, ...(client && clientId !== own?.clientId ? [client.name] : [])];
  // An application that no member has used has no name at the facility.
  return [people ? clientId : `a program ${noName}`];
}
