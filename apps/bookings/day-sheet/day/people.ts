// Says who made a change: a person by name, a program by the names of its token and its account.

/** The response of `GET {auth_url}/facilities/{id}/people`, as far as the page needs it. */
export interface People {
  readonly people: readonly { readonly subject: string; readonly name: string }[];
  /** A personal access token has the account that it belongs to, an application has null. */
  readonly clients: readonly { readonly clientId: string; readonly name: string; readonly subject: string | null }[];
}

export interface ActorIds {
  readonly clientId: string | null;
  readonly subject: string | null;
}

const noName = '(name not available)';

/** Whether the names of both parts of an actor are known. */
export const isKnown = ({ clientId, subject }: ActorIds, { people, clients }: People): boolean =>
  (!clientId || clients.some((one) => one.clientId === clientId)) &&
  (!subject || subject === clientId || people.some((one) => one.subject === subject));

/**
 * Returns a name and, if there is more to say, a text for brackets behind it. `people` is undefined if the names cannot
 * be read. `own` is the user with the client of the page.
 */
export function describeActor({ clientId, subject }: ActorIds, people: People | undefined, own: ActorIds): string[] {
  if (!clientId) return ['the service itself'];
  const client = people?.clients.find((one) => one.clientId === clientId);
  const account = people?.people.find((one) => one.subject === (client?.subject ?? subject))?.name;
  if (subject === own.subject) return account ? [account, 'you'] : ['you'];
  if (client?.subject || (!account && client && (!subject || subject === clientId)))
    return [client.name, ...(account ? [account] : [])];
  if (subject && subject !== clientId)
    return [account ?? `somebody ${noName}`, ...(client && clientId !== own.clientId ? [client.name] : [])];
  // An application that no member has used has no name at the facility.
  return [people ? clientId : `a program ${noName}`];
}
