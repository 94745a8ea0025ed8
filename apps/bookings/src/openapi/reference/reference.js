// Starts Swagger UI in the browser with the OpenAPI document of this service. Browsers load this file without a build
// step, as a classic script after the script of Swagger UI, which defines SwaggerUIBundle.
(() => {
  const page = document.getElementById('content');
  const { document: documentPath, scope } = page.dataset;

  const prefersDark = matchMedia('(prefers-color-scheme: dark)');
  const setColorScheme = () => document.documentElement.classList.toggle('dark-mode', prefersDark.matches);
  prefersDark.addEventListener('change', setColorScheme);
  setColorScheme();

  const ui = SwaggerUIBundle({
    domNode: page,
    url: documentPath,
    deepLinking: true, // Each operation has its own address.
    defaultModelsExpandDepth: 0, // The list of schemas is collapsed.
    showCommonExtensions: true, // Parameters show their limits, such as `maximum`.
    syntaxHighlight: { theme: 'nord' }, // Its colours have enough contrast.
    validatorUrl: null, // The page sends nothing to the validator of swagger.io.
    plugins: [improveAccessibility],
    // The search of bookings accepts a body in a GET request, which `fetch` cannot send.
    requestInterceptor: ({ body, ...request }) => (request.method === 'GET' ? request : { ...request, body }),
  });
  // Selects this scope in the dialog "Authorize".
  ui.initOAuth({ scopes: [scope] });

  /** Corrects parts of Swagger UI that cannot be used with a keyboard or a screen reader, which it finds by name. */
  function improveAccessibility({ React: { createElement: create, Fragment } }) {
    return {
      wrapComponents: {
        // Shows the path of an operation as plain text. Swagger UI shows it as a link inside a button.
        DeepLink: () => (props) => create('span', null, props.text),
        // Gives the button that closes the dialog an accessible name.
        CloseIcon: (CloseIcon) => (props) =>
          create(Fragment, null, create(CloseIcon, props), create('span', { className: 'visually-hidden' }, 'Close')),
        // Removes the accessible names of buttons, because they differ from the visible text.
        Button: (Button) => (props) => create(Button, { ...props, 'aria-label': undefined }),
        // Gives the list of examples a label.
        ExamplesSelect: (ExamplesSelect) => (props) =>
          create(
            'label',
            null,
            create('span', { className: 'visually-hidden' }, 'Example'),
            create(ExamplesSelect, props),
          ),
        // With `tabIndex`, users can scroll long examples with the keyboard.
        SyntaxHighlighter: (SyntaxHighlighter) => (props) =>
          create(
            'div',
            { className: 'code-region', tabIndex: 0, role: 'group', 'aria-label': 'Code' },
            create(SyntaxHighlighter, props),
          ),
      },
    };
  }
})();
