// In the browser: tells times in the viewer's own zone and copies a text on a click. The pages say and do everything without it.

const words = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

for (const time of document.querySelectorAll('time[datetime]')) {
  const at = new Date(time.dateTime);
  if (!Number.isNaN(at.getTime())) time.textContent = words.format(at);
}

if (navigator.clipboard) {
  for (const button of document.querySelectorAll('button[data-copy]')) {
    const source = document.getElementById(button.dataset.copy);
    const said = document.getElementById('copied');
    if (!source) continue;
    const label = button.textContent;
    button.hidden = false;
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = 'Copied';
        if (said) said.textContent = `${button.dataset.what} copied.`;
      } catch {
        button.textContent = 'Select and copy it';
        getSelection()?.selectAllChildren(source);
      }
      setTimeout(() => {
        button.textContent = label;
        if (said) said.textContent = '';
      }, 3_000);
    });
  }
}
