// Reads the authorization server's list of ended rights, so that tokens of these rights are rejected before they expire
// (docs/behaviour.md, "Revoked tokens").
import type { Logger } from '@bay-booking/service/logging';
import { startLoop } from '@bay-booking/service/periodic';
import { revocationIdsOf } from '@bay-booking/service/revocations';
import jsonwebtoken, { type Jwt } from 'jsonwebtoken';
import type { Caller } from './caller.ts';
import { fetchText, type IssuerKeys, withAndWithoutSlash } from './signing-keys.ts';

/** Tokens of the right `id` that were issued before `before` (seconds since 1970) are rejected. */
export interface EndedRight {
  readonly id: string;
  readonly before: number;
  /** The right is a facility that is disabled now. */
  readonly disabled?: boolean;
}

/** Removes what a right has created. Must be idempotent, because it gets entries more than once. */
export type EndRights = (entries: readonly EndedRight[]) => Promise<unknown>;

export interface RevocationsOptions {
  readonly uri: string;
  readonly issuer: string;
  readonly signingKeys: Pick<IssuerKeys, 'find'>;
  readonly pollSeconds: number;
  readonly endRights: readonly EndRights[];
  /** Gets the ids of all facilities that are disabled, each time the list was read. */
  readonly setDisabled: (ids: readonly string[]) => Promise<unknown>;
  readonly logger: Logger;
  readonly timeout?: number | undefined;
}

export type Revocations = ReturnType<typeof createRevocations>;

interface List {
  /** Maps each id to its `before`. */
  readonly entries: Map<string, number>;
  readonly disabled: Set<string>;
  /** The number of the last entry. Undefined until the first page was read. */
  last: number | undefined;
  readonly startedAt: number;
}

interface Page {
  readonly revoked: readonly EndedRight[];
  readonly last: number;
  readonly more?: boolean;
}

/** At this interval, the whole list is read again, which removes expired entries. */
const renewalIntervalMs = 3_600_000;
const clockToleranceSeconds = 10;

const newList = (): List => ({
  entries: new Map(),
  disabled: new Set(),
  last: undefined,
  startedAt: performance.now(),
});

export function createRevocations(options: RevocationsOptions) {
  const { pollSeconds, endRights, setDisabled, logger } = options;
  /** The list in force. Undefined until it was read to its end for the first time. */
  let list: List | undefined;
  /** The list that the next page belongs to: the list in force, or its successor. */
  let reading = newList();
  let version = 0;
  let readAt: number | undefined;
  /** Entries that `endRights` has not processed yet. */
  let pending: readonly EndedRight[] = [];
  /** The last entries are processed again: a request that was authorized earlier may have created something since. */
  let repeated: readonly EndedRight[] = [];

  const readPage = async (): Promise<boolean> => {
    if (performance.now() - reading.startedAt > renewalIntervalMs) reading = newList();
    const { revoked, last, more } = await fetchPage(reading.last, options);
    if (reading.last !== undefined && last < reading.last) {
      // The authorization server has removed its last entries or was restored from a backup.
      const mayRestart = reading === list;
      reading = newList();
      if (mayRestart) return true;
      throw new Error('the numbers of the revocations decrease');
    }
    if (more && last === reading.last) throw new Error('the list of revocations does not continue');
    for (const { id, before, disabled } of revoked) {
      reading.entries.set(id, Math.max(before, reading.entries.get(id) ?? 0));
      if (disabled) reading.disabled.add(id);
      else reading.disabled.delete(id);
    }
    reading.last = last;
    pending = [...pending, ...revoked];
    if (revoked.length > 0 || (!more && reading !== list)) version += 1;
    if (more) return true;
    list = reading;
    readAt = performance.now();
    return false;
  };

  const endPendingRights = async (): Promise<void> => {
    const entries = [...repeated, ...pending];
    if (entries.length > 0) await Promise.all(endRights.map((end) => end(entries)));
    repeated = pending;
    pending = [];
  };

  const read = async (): Promise<void> => {
    let failure: unknown;
    let hasMore = true;
    while (hasMore) {
      hasMore = await readPage();
      // While the database is unavailable, the entries stay pending and the list is still read.
      if (failure === undefined)
        await endPendingRights().catch((error: unknown) => {
          failure = error;
        });
    }
    if (failure !== undefined) throw failure;
    // Not only after a change: another instance may have stored an earlier state meanwhile.
    await setDisabled([...(list?.disabled ?? [])]);
  };

  return {
    read,
    /** Increases with every change of the list. Undefined until the list was read. */
    version: (): number | undefined => list && version,
    isRevoked: (caller: Caller): boolean =>
      revocationIdsOf(caller).some((id) => caller.issuedAt < (list?.entries.get(id) ?? 0)),
    /** The milliseconds since the list was last read to its end. */
    age: (): number | undefined => (readAt === undefined ? undefined : performance.now() - readAt),
    start: (): (() => Promise<void>) => {
      const loop = startLoop({ name: 'revocations', intervalMs: pollSeconds * 1000, run: read, logger });
      void loop.wake();
      return loop.stop;
    },
  };
}

async function fetchPage(after: number | undefined, { uri, issuer, signingKeys, timeout = 4_000 }: RevocationsOptions) {
  const token = (await fetchText(after === undefined ? uri : `${uri}?after=${after}`, timeout)).trim();
  // Decoding the whole token here would take much memory.
  const header = JSON.parse(Buffer.from(token.split('.', 1)[0] as string, 'base64url').toString());
  if (header.typ !== 'revocations+jwt') throw new Error(`${uri} did not return a list of revocations`);
  const key = await signingKeys.find(header.kid);
  if (!key) throw new Error('the list of revocations is signed with an unknown key');
  const { payload } = jsonwebtoken.verify(token, key.key, {
    complete: true,
    algorithms: ['ES256'],
    issuer: withAndWithoutSlash(issuer),
    clockTolerance: clockToleranceSeconds,
  }) as Jwt;
  if (!isPage(payload)) throw new Error('the list of revocations has missing or invalid claims');
  return payload;
}

function isPage(payload: unknown): payload is Page {
  const { exp, revoked, last } = payload as Partial<Page> & { exp?: unknown };
  return (
    typeof exp === 'number' &&
    Number.isSafeInteger(last) &&
    Array.isArray(revoked) &&
    revoked.every(({ id, before }) => typeof id === 'string' && typeof before === 'number')
  );
}
