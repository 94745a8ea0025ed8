// Runs in the browser: shows times in the time zone of the viewer and adds buttons that copy a text. Pages work without
// it.

/** Equal to the format in ../time-format.ts, apart from the time zone. */
const timeFormat = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
});

for (const time of document.querySelectorAll('time[datetime]')) {
  const date = new Date(time.dateTime);
  if (!Number.isNaN(date.getTime())) time.textContent = timeFormat.format(date);
}

if (navigator.clipboard) {
  const status = document.getElementById('copy-status');
  for (const button of document.querySelectorAll('button[data-copy]')) {
    const source = document.getElementById(button.dataset.copy);
    if (!source) continue;
    const label = button.textContent;
    button.hidden = false;
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = 'Copied';
        if (status) status.textContent = `${button.dataset.what} copied.`;
      } catch {
        button.textContent = 'Selected: copy it';
        getSelection()?.selectAllChildren(source);
      }
      setTimeout(() => {
        button.textContent = label;
        if (status) status.textContent = '';
      }, 3_000);
    });
  }
}
