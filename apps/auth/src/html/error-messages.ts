// Defines the titles and texts of general error pages, which do not belong to a single feature.

export interface ErrorMessage {
  readonly title: string;
  readonly text: string;
}

export const errorMessages = {
  signInExpired: {
    title: 'This sign-in has expired',
    text:
      'It was open for too long, is already complete, or was started in another browser. ' +
      'Go back to the page where you began to sign in, and start again.',
  },
  formExpired: {
    title: 'This form has expired',
    text: 'It was open for too long, or it was not sent from our page. Go back, reload the page and try again.',
  },
  notFound: {
    title: 'Page not found',
    text: 'The page does not exist, or it belongs to a facility or an account that is not yours. Check the address.',
  },
  badRequest: { title: 'Invalid request', text: 'The request could not be read. Go back and try again.' },
  unavailable: {
    title: 'Temporarily unavailable',
    text: 'The service is temporarily unavailable. Try again in a moment.',
  },
  internal: { title: 'Something went wrong', text: 'The page could not be shown. Try again in a moment.' },
} as const satisfies Readonly<Record<string, ErrorMessage>>;
