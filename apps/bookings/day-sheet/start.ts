// Starts the day sheet: sends the user to auth, or shows the day if the user comes back from there. Nobody has a token
// before, so the page then loads this module and its imports only (../src/day-sheet/routes.ts).
import { finishSignIn, serviceUrl, startSignIn } from './sign-in.ts';

async function start(): Promise<void> {
  // The redirect URI has the host of BASE_URL, and so must the page.
  if (location.origin !== new URL(serviceUrl).origin) return location.replace(`${serviceUrl}/day${location.search}`);
  const finished = await finishSignIn();
  if (finished.result === 'not signed in') return startSignIn(() => finished.place);
  const { showDaySheet } = await import('./main.ts');
  return showDaySheet(finished);
}

// The browser can show the page again from its cache. The scripts then still wait for a redirect that is over.
addEventListener('pageshow', ({ persisted }) => persisted && location.reload());
start().catch(async (error: unknown) => (await import('./main.ts')).fail(error));
