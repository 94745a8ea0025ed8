// Builds a stand-in provider's sign-in page, which has a button for each user and one to cancel.
import { socialUsers } from './grants.ts';

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const style = `
:root { color-scheme: light dark }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; font: 1rem/1.5 system-ui, sans-serif;
  background: light-dark(#eef1f6, #14171c); color: light-dark(#1b2230, #e8ebf0) }
main { width: min(24rem, calc(100vw - 2rem)); box-sizing: border-box; padding: 2rem; border-radius: 1rem;
  background: light-dark(#fff, #1e232b) }
h1 { margin: 0 0 .25rem; font-size: 1.4rem }
p { margin: 0 0 1.25rem; color: light-dark(#556, #aab) }
button { display: block; width: 100%; margin: .5rem 0; padding: .75rem 1rem; text-align: start; font: inherit;
  color: inherit; background: light-dark(#f5f7fa, #2a313b); border: 1px solid light-dark(#8a94a6, #6b7688);
  border-radius: .6rem; cursor: pointer }
small { display: block; color: light-dark(#556, #aab) }`;

/** The form field `user` contains the chosen user's id. It is empty if the user cancels. */
export function socialSignInPage(provider: string, action: string): string {
  const buttons = socialUsers.map(
    ({ id, name, email }) =>
      `<button name="user" value="${id}">${escapeHtml(name)}<small>${escapeHtml(email)}</small></button>`,
  );
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in with ${provider} (stand-in)</title><style>${style}</style></head>
<body><main><h1>${provider}, a stand-in</h1><p>This page replaces the sign-in page of ${provider}. Who are you?</p>
<form method="post" action="${escapeHtml(action)}">
${buttons.join('\n')}
<button name="user" value="">Cancel</button>
</form></main></body></html>`;
}
