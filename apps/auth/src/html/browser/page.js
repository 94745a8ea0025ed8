// Shows times in the time zone of the user, except those of a facility, and shows the buttons that copy a text or
// print the page. This script runs in the browser. Pages also work without it.

const timeParts = { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' };
const formatWithoutZone = new Intl.DateTimeFormat('en-GB', timeParts);
/** Formats a time like `5 Mar 2026, 19:00 GMT+9`. */
const formatWithZone = new Intl.DateTimeFormat('en-GB', { ...timeParts, timeZoneName: 'short' });

for (const element of document.querySelectorAll('time[datetime]:not([data-keeps-zone])')) {
  const date = new Date(element.dateTime);
  const format = 'withoutZone' in element.dataset ? formatWithoutZone : formatWithZone;
  if (!Number.isNaN(date.getTime())) element.textContent = format.format(date);
}
for (const element of document.querySelectorAll('[data-user-zone]'))
  element.textContent = formatWithZone.resolvedOptions().timeZone;

/** The element through which screen readers announce that a text was copied. */
const copyStatus = document.getElementById('copy-status');
/** How long a button shows whether the text was copied. */
const resultDurationMs = 3_000;

/**
 * Shows the button, and makes it copy the text of the element `source`. The attribute `data-what` of the button names
 * the text, such as `The client_secret`.
 */
function activateCopyButton(button, source) {
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.dataset.copied ?? source.textContent);
      button.textContent = 'Copied';
      if (copyStatus) copyStatus.textContent = `${button.dataset.what} copied.`;
    } catch {
      // The browser did not let the script copy. The text is selected, so that the user can copy with the keyboard.
      button.textContent = 'Copy the selected text';
      getSelection()?.selectAllChildren(source);
    }
    setTimeout(() => {
      button.textContent = label;
      if (copyStatus) copyStatus.textContent = '';
    }, resultDurationMs);
  });
}

if (navigator.clipboard) {
  // `data-copy` is the id of the element whose text the button copies.
  for (const button of document.querySelectorAll('button[data-copy]')) {
    const source = document.getElementById(button.dataset.copy);
    if (source) activateCopyButton(button, source);
  }
}

for (const button of document.querySelectorAll('button[data-print]')) {
  button.hidden = false;
  button.addEventListener('click', () => print());
}
