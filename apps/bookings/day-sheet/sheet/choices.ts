// Remembers what the user has chosen on the sheet, also after a sign-in or a reload of the same tab.
const initial = {
  view: 'grid' as 'grid' | 'list',
  locked: false,
  filter: '',
  bay: 0,
  /** Whose choices these are. */
  subject: '',
  /** The facilities where the user has every right. */
  ownFacilities: [] as readonly string[],
  /** Set when the user asked for other facilities and there were none. */
  hasNoOthers: false,
  scroll: [0, 0] as [number, number],
};
export const choices = { ...initial };
const storageKey = 'day-sheet-choices';
Object.assign(choices, JSON.parse(sessionStorage.getItem(storageKey) ?? '{}'));
addEventListener('pagehide', () => {
  const sheet = document.querySelector('.sheet');
  sessionStorage.setItem(
    storageKey,
    JSON.stringify({ ...choices, scroll: [sheet?.scrollLeft ?? 0, sheet?.scrollTop ?? 0] }),
  );
});

/** The next person at this device must not see the names that somebody has searched for. */
export const forgetChoices = (subject = ''): void => {
  if (subject !== choices.subject) Object.assign(choices, initial, { subject });
};
