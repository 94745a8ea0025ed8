// Asks the browser for a passkey, and submits its response with the form `data-passkey`. This script runs in the browser,
// after the library SimpleWebAuthn in the same file.
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
  const optionsJSON = JSON.parse(form.dataset.options);
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
      submit(await ceremony({ optionsJSON }));
    } catch (error) {
      showError(error);
    }
  });
  // The button of the form ends this request. Then the user has not failed to choose a passkey.
  if ('autofill' in form.dataset) offerInAutofill(optionsJSON).then(submit, () => {});
}

async function offerInAutofill(optionsJSON) {
  if (!(await browserSupportsWebAuthnAutofill())) throw new Error('not supported');
  return startAuthentication({ optionsJSON, useBrowserAutofill: true });
}
