// Finds the changes that a request made to a session.
import type { AdapterPayload } from 'oidc-provider';

interface Changes {
  readonly set: Readonly<Record<string, unknown>>;
  readonly removed: readonly string[];
}

export interface SessionChanges {
  readonly fields: Changes;
  readonly authorizations: Changes;
}

export function sessionChanges(before: AdapterPayload, after: AdapterPayload): SessionChanges {
  const { authorizations: authorizationsBefore = {}, ...fieldsBefore } = before;
  const { authorizations = {}, ...fields } = after;
  return {
    fields: changesBetween(fieldsBefore, fields),
    authorizations: changesBetween(authorizationsBefore, authorizations),
  };
}

function changesBetween(before: object, after: object): Changes {
  const oldValues = new Map(Object.entries(before).map(([name, value]) => [name, JSON.stringify(value)]));
  const newFields = Object.entries(after).filter(([, value]) => value !== undefined);
  const newNames = new Set(newFields.map(([name]) => name));
  return {
    set: Object.fromEntries(newFields.filter(([name, value]) => oldValues.get(name) !== JSON.stringify(value))),
    removed: [...oldValues.keys()].filter((name) => !newNames.has(name)),
  };
}
