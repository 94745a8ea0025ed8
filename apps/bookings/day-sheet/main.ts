// Shows the day sheet to a user who has come back from auth: lets the user choose a location, and shows the day.
import type { BookingLocation, Me } from '@bay-booking/client';
import { api, offlineSince } from './api.ts';
import { dateAt, readDate } from './day/time.ts';
import { readUsageChoice, type UsageChoice } from './day/usage.ts';
import { button, h, link, notify } from './dom.ts';
import { showSheet } from './sheet/sheet.ts';
import { choices, forgetChoices, rememberScroll } from './sheet/toolbar.ts';
import { showUsage } from './sheet/usage.ts';
import * as signIn from './sign-in.ts';

const main = document.querySelector('main') as HTMLElement;

const show = (title: string, ...content: readonly (Node | string)[]): void =>
  main.replaceChildren(h('div.text', h('h1', title), ...content));

const signInButton = (place: signIn.Place, title = 'Sign in', options?: signIn.SignInOptions): HTMLElement =>
  button(title, () => signIn.startSignIn(() => place, options).catch(fail), { class: 'primary' });

export function fail(error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  show('The day cannot be shown', h('p', `Bay Booking does not respond (${reason}). Try again in a moment.`));
  main.firstElementChild?.append(button('Try again', () => location.reload(), { class: 'primary' }));
}

const noConnection = 'there is no connection to the service.';

export async function showDaySheet({ result, place }: signIn.FinishedSignIn): Promise<void> {
  if (result === 'signed out') return show('You are signed out of the day sheet', signInButton(place));
  if (typeof result === 'object') return show('You are not signed in', h('p', result.error), signInButton(place));
  const signOut = document.getElementById('sign-out') as HTMLButtonElement;
  signOut.hidden = false;
  signOut.addEventListener('click', () => {
    const stay = () => notify(`You are still signed in, because ${noConnection} Try again later.`);
    void signIn.signOut().then(() => forgetChoices(), stay);
  });
  const [me, locations] = await Promise.all([api.me(), api.locations.list().toArray()]);
  forgetChoices(me.subject);
  if (place.notice) notify(place.notice);
  const query = new URLSearchParams(location.search);
  const isUnknown = query.has('location') && !locations.some(({ id }) => id === query.get('location'));
  // The token names the facilities where the user has the right for every scope. A Bookings Manager may not close bays.
  if (!signIn.isReduced) choices.ownFacilities = me.facilities.map(({ id }) => id);
  if (!signIn.isReduced && (locations.length === 0 || isUnknown || query.has('choose')))
    return signIn.startSignIn(() => place, { reduced: true });
  const hasOthers = locations.some(({ facilityId }) => !choices.ownFacilities.includes(facilityId));
  if (signIn.isReduced && query.has('choose') && !hasOthers) {
    choices.hasNoOthers = true;
    return signIn.startSignIn(() => ({ search: '', notice: 'You have no other facilities.' }), { reduced: false });
  }
  if (signIn.isReduced && isUnknown) return signIn.startSignIn(() => ({ search: '' }), { reduced: false });
  if (locations.length === 0)
    return show(
      'No facility',
      h(
        'p',
        'Your account has no role at a facility, or the facility requires a second factor. The owner can invite you.',
      ),
      signInButton(place, 'Sign in with a second factor', { acrValues: '2', reduced: false }),
    );
  await showDays(me, locations, place);
}

/** Shows the day that the URL names, and another one after each change of the URL. */
async function showDays(me: Me, locations: readonly BookingLocation[], firstPlace: signIn.Place): Promise<void> {
  let shown = new AbortController();
  let search = '';
  let facilityBefore: string | undefined;
  const others = locations.filter(({ facilityId }) => !choices.ownFacilities.includes(facilityId));

  const go = (locationId: string, date: string, usage?: UsageChoice): void => {
    const place = new URLSearchParams({ location: locationId, date, ...usage });
    history.pushState(null, '', locationId ? `?${place}` : '?choose');
    void open();
  };

  async function open(draft?: signIn.FormDraft): Promise<void> {
    const query = new URLSearchParams(location.search);
    const hasChoice = query.has('choose') || (me.facilities.length > 1 && !query.has('location'));
    const chosen = locations.find(({ id }) => id === query.get('location')) ?? (hasChoice ? undefined : locations[0]);
    const facilityId = chosen?.facilityId ?? '';
    // The page starts again, with the token that has most rights there.
    if (signIn.isReduced ? facilityId !== (facilityBefore ?? facilityId) : query.has('choose')) {
      if (offlineSince === undefined) return location.reload();
      // A reload without a connection would lose the page.
      history.replaceState(null, '', search);
      notify(`Other facilities cannot be shown, because ${noConnection}`);
      return open();
    }
    shown.abort();
    shown = new AbortController();
    const { signal } = shown;
    document.querySelector('dialog')?.close();
    facilityBefore = facilityId;
    if (!chosen) return showChoice(query.has('choose') && signIn.isReduced ? others : locations);
    const date = readDate(query.get('date')) ?? dateAt(Date.now(), chosen.timeZone);
    const choice = readUsageChoice(query);
    history.replaceState(null, '', `?${new URLSearchParams({ location: chosen.id, date, ...choice })}`);
    search = location.search;
    try {
      if (choice) return await showUsage({ locations, location: chosen, date, choice, go }, signal);
      const reload = () => {
        rememberScroll();
        void open(signIn.drafts.current?.());
      };
      await showSheet({ me, locations, location: chosen, date, draft, go, reload }, signal);
    } catch (error) {
      if (!signal.aborted) fail(error);
    }
  }

  function showChoice(choosable: readonly BookingLocation[]): void {
    const links = choosable.map(({ id, name, timeZone, facilityId }) => {
      const facility = me.facilities.find((one) => one.id === facilityId)?.name;
      const choose = () => go(id, dateAt(Date.now(), timeZone));
      return h('li', link(facility ? `${facility}: ${name}` : name, choose));
    });
    show('Choose a location', h('ul', ...links));
  }

  addEventListener('popstate', () => {
    // The skip link changes only the fragment.
    if (location.search === search) return;
    const form = document.querySelector('dialog');
    if (!form) {
      void open();
      return;
    }
    // The Back button closes only the form, which asks first if something typed would be lost.
    history.pushState(null, '', search);
    form.dispatchEvent(new Event('cancel', { cancelable: true }));
  });
  await open(firstPlace.draft);
}
