// Asks the browser for a passkey and submits its response with the form `data-passkey`. This script runs in the
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

  /** The request of the autofill must not begin any more, because it would end the request of the button. */
  let isPressed = false;

  form.hidden = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    isPressed = true;
    message.hidden = true;
    const ceremony = form.dataset.passkey === 'create' ? startRegistration : startAuthentication;
    try {
      const optionsJSON = await options;
      const request = () => ceremony({ optionsJSON });
      submit(await request().catch((error) => (isAborted(error) ? request() : Promise.reject(error))));
    } catch (error) {
      showError(error);
    }
  });
  if ('autofill' in form.dataset) {
    // The button ends this request. Then the user has not failed to choose a passkey.
    offerInAutofill(options, () => isPressed).then(submit, () => {});
  }
}

/** Whether the request of the autofill, which was about to begin, has ended the request. */
const isAborted = (error) => error.code === 'ERROR_CEREMONY_ABORTED' || error.name === 'AbortError';

async function loadOptions({ dataset }) {
  return dataset.options ? JSON.parse(dataset.options) : (await fetch(dataset.optionsUrl)).json();
}

async function offerInAutofill(options, isPressed) {
  const [optionsJSON, isSupported] = await Promise.all([options, browserSupportsWebAuthnAutofill()]);
  if (!isSupported || isPressed()) throw new Error('not offered');
  return startAuthentication({ optionsJSON, useBrowserAutofill: true });
}
