// Starts the day sheet: sends the user to auth, and shows the day when the user comes back. Before that, nobody has a
// token, so the browser loads only this module and its imports (../src/day-sheet/routes.ts).
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
