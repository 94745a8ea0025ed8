// Starts Swagger UI in the browser with the OpenAPI document of this service. Our plugins for Swagger UI show the
// examples and errors, improve the accessibility, and hide what does not apply to this service.
//
// Browsers load this file without a build step, as a classic script after the script of Swagger UI, which defines
// SwaggerUIBundle. A plugin replaces or wraps components of Swagger UI, which are found by their names. Plugins call
// `React.createElement`, because JSX would need a build step. Swagger UI passes parts of the document as collections of
// Immutable.js, which have the methods `get`, `getIn` and `first` and the property `size`.
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
    defaultModelExpandDepth: 3, // In a schema, three levels are expanded.
    showCommonExtensions: true, // Parameters show their limits, such as `maximum`.
    syntaxHighlight: { theme: 'nord' },
    validatorUrl: null, // The page sends nothing to the validator of swagger.io.
    onComplete: addContents,
    plugins: [showExamplesAndErrors, improveAccessibility, hideWhatDoesNotApply],
  });
  // Selects this scope in the dialog "Authorize".
  ui.initOAuth({ scopes: [scope] });

  // Swagger UI itself closes its dialog only with a button.
  document.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') page.querySelector('.modal-ux .close-modal')?.click();
  });

  /** Makes the links of the contents work in Swagger UI, which reads the address only once, and shows the filter. */
  function addContents() {
    addEventListener('hashchange', showTarget);
    if (!location.hash.startsWith('#/')) showTarget();

    const filter = document.getElementById('filter');
    const [input, output] = filter.querySelectorAll('input, output');
    const items = [...document.querySelectorAll('.contents [data-operation]')];
    const apply = () => {
      const words = input.value.toLowerCase().split(/\s+/);
      for (const item of items) {
        const text = `${item.dataset.operation} ${item.innerText} ${item.firstChild.hash}`.toLowerCase();
        item.hidden = !words.every((word) => text.includes(word));
      }
      for (const group of document.querySelectorAll('.contents section'))
        group.hidden = input.value !== '' && !group.querySelector('[data-operation]:not([hidden])');
      output.value = input.value && `${items.filter(({ hidden }) => !hidden).length} of ${items.length} operations`;
    };
    input.addEventListener('input', apply);
    filter.hidden = false;
    apply();
  }

  /** Shows the operation or the heading that the address names. Swagger UI gives its headings no ids. */
  function showTarget() {
    const [id, tag, operationId] = location.hash.slice(1).split('/');
    const idOf = ({ innerText }) =>
      innerText
        .toLowerCase()
        .replace(/[^\w\s-]/g, '')
        .replaceAll(' ', '-');
    if (!operationId)
      return [...page.querySelectorAll('.info h2')].find((heading) => idOf(heading) === id)?.scrollIntoView();
    ui.layoutActions.show(['operations-tag', decodeURI(tag)], true);
    ui.layoutActions.show(['operations', decodeURI(tag), operationId], true);
    // Swagger UI renders the operation after this event.
    requestAnimationFrame(() => {
      const operation = page.querySelector(`[id$="-${operationId}"]`);
      operation?.scrollIntoView();
      operation?.querySelector('.opblock-summary-control').focus({ preventScroll: true });
    });
  }

  /** Shows the request examples of an operation, its successful responses, and one line with its error codes. */
  function showExamplesAndErrors({ React, getComponent, specSelectors }) {
    const create = React.createElement;

    const CodeSample = ({ sample }) => {
      const isShell = sample.get('lang') === 'Shell';
      const code = { language: isShell ? 'bash' : 'javascript', canCopy: true };
      return create(
        'details',
        { className: 'code-sample', open: isShell },
        create('summary', null, sample.get('label')),
        // The second argument of `getComponent` connects the component to the state of Swagger UI.
        create(getComponent('HighlightCode', true), code, sample.get('source')),
      );
    };

    const ErrorCodes = ({ codes }) =>
      create(
        'p',
        { className: 'error-codes' },
        `Error codes: ${codes.size > 0 ? `${codes.join(', ')}, and those that ` : 'those that '}`,
        create('a', { href: '#errors', onClick: showErrors }, 'every endpoint can return'),
        '.',
      );

    const responses = (Responses) => (props) => {
      const operation = specSelectors.specJson().getIn(['paths', props.path, props.method]);
      const isSuccess = (_response, status) => !/^[45]/.test(status);
      return create(
        React.Fragment,
        null,
        create('div', { className: 'opblock-section-header' }, create('h4', null, 'Request examples')),
        ...operation.get('x-codeSamples').map((sample) => create(CodeSample, { sample, key: sample.get('lang') })),
        create(Responses, { ...props, responses: props.responses.filter(isSuccess) }),
        create(ErrorCodes, { codes: operation.get('x-errorCodes') }),
      );
    };
    return { wrapComponents: { responses } };
  }

  /** Opens the table of all errors, which is part of the description of the document. */
  function showErrors(event) {
    const errors = page.querySelector('.info details');
    if (!errors) return;
    event.preventDefault();
    errors.open = true;
    errors.scrollIntoView();
    errors.querySelector('summary').focus();
  }

  /** Corrects parts of Swagger UI that cannot be used with a keyboard or a screen reader. */
  function improveAccessibility({ React }) {
    const create = React.createElement;
    return {
      wrapComponents: {
        // Shows the path of an operation as plain text. Swagger UI shows it as a link inside a button.
        DeepLink: () => (props) => create('span', null, props.text),
        // Gives the button that closes the dialog an accessible name.
        CloseIcon: (CloseIcon) => (props) =>
          create(
            React.Fragment,
            null,
            create(CloseIcon, props),
            create('span', { className: 'visually-hidden' }, 'Close'),
          ),
        // Removes the accessible names of buttons, because they differ from the visible text.
        Button: (Button) => (props) => create(Button, { ...props, 'aria-label': undefined }),
        // With `tabIndex`, users can scroll long examples with the keyboard.
        SyntaxHighlighter: (SyntaxHighlighter) => (props) =>
          create(
            'div',
            { className: 'code-region', tabIndex: 0, role: 'group', 'aria-label': 'Code' },
            create(SyntaxHighlighter, props),
          ),
        // By default, Swagger UI sets the focus to the second form of the dialog. These wrappers set the focus to the
        // first form, which is for client credentials.
        Input: (Input) => (props) => create(Input, { ...props, autoFocus: false }),
        InitializedInput: (InitializedInput) => (props) =>
          create(InitializedInput, { ...props, autoFocus: props.id?.startsWith('client_id') }),
      },
    };
  }

  /** Hides parts of Swagger UI that are of no use for this API. */
  function hideWhatDoesNotApply({ React, specSelectors }) {
    const create = React.createElement;
    return {
      wrapComponents: {
        // The list of servers would have only one entry, so only the address is shown.
        ServersContainer: () => () =>
          create(
            'p',
            { className: 'server' },
            'Server: ',
            create('code', null, specSelectors.servers().first().get('url')),
          ),
        // Swagger UI would link the license to a page of spdx.org that does not exist.
        License: () => () => null,
        // Swagger UI cannot create DPoP proofs, so its dialog does not offer DPoP.
        auths: (Auths) => (props) =>
          create(Auths, { ...props, definitions: props.definitions.filter((_scheme, name) => name !== 'dpop') }),
        // Only the search of bookings accepts a body in a GET request, in which `fetch` cannot send one. The fields of
        // the body can be sent in the query instead.
        parameters: (Parameters) => (props) => {
          const { operation, pathMethod } = props;
          const isGet = pathMethod[1] === 'get';
          return create(Parameters, { ...props, operation: isGet ? operation.delete('requestBody') : operation });
        },
        // The regular expression (`pattern`) of text fields is long, and readers do not need it, so it is not shown.
        ParameterExt: (ParameterExt) => (props) => (isPatternOfText(props.xVal) ? null : create(ParameterExt, props)),
        JSONSchema202012KeywordConstraint: (Constraint) => (props) =>
          isPatternOfText(props.constraint.value) ? null : create(Constraint, props),
      },
    };
  }

  // The patterns of text fields begin like this (src/http/schemas.ts).
  function isPatternOfText(value) {
    return String(value).includes('^[^');
  }
})();
