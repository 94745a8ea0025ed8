// What did a request change of the session that it had found? The library writes a session whole; of two requests of one browser the
// later would take back what the earlier wrote: its client's consent, which signing out is to end, or the sign-out that was begun.
import type { AdapterPayload } from 'oidc-provider';

interface Changes {
  readonly set: Readonly<Record<string, unknown>>;
  readonly gone: readonly string[];
}

export interface SessionChanges {
  readonly fields: Changes;
  /** By client. */
  readonly authorizations: Changes;
}

export function sessionChanges(before: AdapterPayload, after: AdapterPayload): SessionChanges {
  const { authorizations: held = {}, ...fieldsBefore } = before;
  const { authorizations: holds = {}, ...fields } = after;
  return { fields: changes(fieldsBefore, fields), authorizations: changes(held, holds) };
}

function changes(before: object, after: object): Changes {
  const kept = Object.entries(after).filter(([, value]) => value !== undefined);
  const old = new Map(Object.entries(before).map(([name, value]) => [name, JSON.stringify(value)]));
  const names = new Set(kept.map(([name]) => name));
  return {
    set: Object.fromEntries(kept.filter(([name, value]) => old.get(name) !== JSON.stringify(value))),
    gone: [...old.keys()].filter((name) => !names.has(name)),
  };
}
