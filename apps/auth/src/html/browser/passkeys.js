// Asks the browser for a passkey, and submits its response with the form `data-passkey`. This script runs in the
// browser, after the library SimpleWebAuthn in the same file.
const { browserSupportsWebAuthn, browserSupportsWebAuthnAutofill, startAuthentication, startRegistration } =
  globalThis.SimpleWebAuthnBrowser;

const textsByError = {
  InvalidStateError: 'This device already has a passkey for your account.',
  NotAllowedError: 'No passkey was used. Try again, or choose another way.',
};

for (const form of document.querySelectorAll('form[data-passkey]')) {
  if (browserSupportsWebAuthn()) activate(form);
  else document.getElementById('passkey-unsupported')?.removeAttribute('hidden');
}

function activate(form) {
  // Before the user presses the button, because Safari allows a passkey only directly after it.
  const options = loadOptions(form);
  options.catch(() => {});
  const message = form.querySelector('[role="alert"]');
  const submit = (response) => {
    form.elements.passkey.value = JSON.stringify(response);
    form.submit();
  };
  const showError = (error) => {
    message.textContent = textsByError[error.name] ?? 'The passkey could not be used. Choose another way.';
    message.hidden = false;
  };

  form.hidden = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    message.hidden = true;
    try {
      const ceremony = form.dataset.passkey === 'create' ? startRegistration : startAuthentication;
      submit(await ceremony({ optionsJSON: await options }));
    } catch (error) {
      showError(error);
    }
  });
  // The button of the form ends this request. Then the user has not failed to choose a passkey.
  if ('autofill' in form.dataset) offerInAutofill(options).then(submit, () => {});
}

async function loadOptions({ dataset }) {
  return dataset.options ? JSON.parse(dataset.options) : (await fetch(dataset.optionsUrl)).json();
}

async function offerInAutofill(options) {
  if (!(await browserSupportsWebAuthnAutofill())) throw new Error('not supported');
  return startAuthentication({ optionsJSON: await options, useBrowserAutofill: true });
}
