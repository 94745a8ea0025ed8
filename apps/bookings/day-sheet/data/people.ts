// Reads the names of people and programs from auth. They stay in memory for a minute, as auth allows, and nowhere else.
import { type ActorIds, isKnown, type People } from '../day/people.ts';
import { currentToken, issuerUrl } from '../sign-in.ts';

const maxAgeMs = 60_000;
const timeoutMs = 5_000;
const read = new Map<string, { readonly people: People; readonly at: number }>();

/** Returns undefined if the names cannot be read. Reads them again if they lack one of the actors. */
export async function readPeople(facilityId: string, actors: readonly ActorIds[]): Promise<People | undefined> {
  const known = read.get(facilityId);
  if (known && known.at > Date.now() - maxAgeMs && actors.every((actor) => isKnown(actor, known.people)))
    return known.people;
  try {
    const response = await fetch(`${issuerUrl}/facilities/${encodeURIComponent(facilityId)}/people`, {
      headers: { authorization: `Bearer ${currentToken()}` },
      // The cache of the browser lies on its disk.
      cache: 'no-store',
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (!response.ok) return known?.people;
    const people = (await response.json()) as People;
    read.set(facilityId, { people, at: Date.now() });
    return people;
  } catch {
    return known?.people;
  }
}
