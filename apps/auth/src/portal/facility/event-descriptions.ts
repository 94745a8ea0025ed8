// Describes the events in the history of a facility, such as "invited ann@example.com as Staff". On the page, the name
// of the user who made the change stands before the description.
import { roleNames } from '../../facilities/roles.ts';
import { formatDuration } from '../../html/time-format.ts';
import type { HistoryRow } from './history-store.ts';

type Detail = HistoryRow['detail'];

const text = (value: unknown): string => String(value ?? '');
/** The deletion of an account removes the e-mail address. */
const recipient = (value: unknown): string => text(value) || 'a former member';
/** An imported token may have no name. */
const token = ({ name }: Detail): string =>
  name ? `the personal access token “${text(name)}”` : 'an unnamed personal access token';
const days = (value: unknown): string => formatDuration(Number(value) * 86_400);
const role = (value: unknown): string => (roleNames as Record<string, string>)[text(value)] ?? text(value);

const descriptions: Readonly<Record<string, (detail: Detail) => string>> = {
  'invitation.sent': (detail) => `invited ${recipient(detail.email)} as ${role(detail.role)}`,
  'invitation.resent': (detail) => `resent the invitation of ${recipient(detail.email)} as ${role(detail.role)}`,
  'invitation.withdrawn': (detail) => `withdrew the invitation of ${recipient(detail.email)} as ${role(detail.role)}`,
  'invitation.accepted': (detail) =>
    `accepted the invitation of ${recipient(detail.email)} and became ${role(detail.role)}`,
  'facility.created': () => 'created the facility',
  'facility.changed': ({ changed, disabled }) => {
    const fields = text(changed).replace('timeZone', 'time zone').split(',');
    const others = fields.filter((field) => field !== 'disabled').join(', ');
    const switched = disabled === undefined ? '' : `${disabled ? 'disabled' : 'enabled'} the facility`;
    return [others && `changed the facility (${others})`, switched].filter(Boolean).join(' and ');
  },
  'membership.added': (detail) => `made ${text(detail.name)} ${role(detail.role)}`,
  'membership.role-changed': (detail) =>
    `changed the role of ${text(detail.name)} from ${role(detail.from)} to ${role(detail.to)}`,
  'factor.reset': (detail) => `reset the second factor of ${text(detail.name)}`,
  'facility.second-factor-required': () => 'required a second factor for everybody',
  'facility.second-factor-optional': () => 'made the second factor optional',
  'membership.revoked': (detail) =>
    detail.self
      ? `gave up the role ${role(detail.role)}`
      : `revoked the role ${role(detail.role)} of ${text(detail.name)}`,
  'membership.left': (detail) => `left, and was ${role(detail.role)} until then: the account was deleted`,
  'personal-access-token.created': (detail) => `created ${token(detail)}, valid for ${days(detail.days)}`,
  'personal-access-token.rotated': (detail) => `rotated ${token(detail)}; ${describeOverlap(Number(detail.overlap))}`,
  'personal-access-token.revoked': (detail) => `revoked ${token(detail)}${detail.onlyHere ? ' for this facility' : ''}`,
};

const describeOverlap = (seconds: number): string =>
  seconds === 0 ? 'the old secret stopped working' : `the old secret worked for another ${formatDuration(seconds)}`;

/** The actor of an event of no account. */
export const nameWithoutAccount = ({ elsewhere, operator }: Detail): string | undefined => {
  if (elsewhere === true) return 'Somebody outside this facility';
  return operator === undefined ? undefined : 'The operator of the service';
};

export const describeEvent = ({ kind, detail }: Pick<HistoryRow, 'kind' | 'detail'>): string =>
  descriptions[kind]?.(detail) ?? kind;
